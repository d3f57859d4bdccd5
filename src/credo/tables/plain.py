"""Any file or standard input as plain UTF-8: unzipped, decoded, without a byte-order mark, with line feeds."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from credo.errors import DataError, FileFormatError
from credo.tables.encoding import Encoding, decoded, sniff_encoding
from credo.tables.options import ReadOptions

__all__ = ["PlainText", "plain_text", "raw_bytes"]

_CHUNK = 1 << 22  # 4 MiB: large enough that Python's loop costs nothing
_IN_MEMORY = 1 << 26  # decoded text up to 64 MiB stays in memory, the rest goes to a temporary file


@dataclass
class PlainText:
    """UTF-8 text, either a file on disk or bytes in memory.

    `name` for messages; `encoding` of the original; `line_ending` "LF", "CRLF", "CR" or "none".
    """

    name: str
    content: Path | bytes
    encoding: Encoding
    line_ending: str
    has_blank_lines: bool
    odd_quotes: bool
    decisions: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def open(self) -> BinaryIO:
        return BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")

    def open_text(self) -> TextIOWrapper:
        """Decoded, line breaks untouched (the csv reader wants them so)."""
        return TextIOWrapper(self.open(), encoding="utf-8", newline="")

    def head(self, size: int) -> str:
        """The first `size` bytes, cut at a line break unless that is all."""
        with self.open() as stream:
            data = stream.read(size)
        if len(data) == size and size < self.size and b"\n" in data:
            data = data[: data.rindex(b"\n") + 1]
        return data.decode("utf-8", errors="replace")

    def tail(self, size: int) -> str:
        """The last `size` bytes, from a line break on unless that is all."""
        with self.open() as stream:
            stream.seek(max(0, self.size - size))
            data = stream.read()
        if size < self.size:
            data = data[data.find(b"\n") + 1 :]
        return data.decode("utf-8", errors="replace")


def plain_text(source: str | Path | bytes, options: ReadOptions) -> PlainText:
    """Open `source` (a path, "-" for standard input, or bytes) as plain UTF-8.

    Raises
    ------
    FileFormatError : the bytes do not decode in the stated encoding, or the gzip file is damaged.
    DataError : there is no such file, or it is empty.
    """
    name, content = raw_bytes(source)
    chunks = Chunks(name, content)
    if options.encoding is None:
        encoding = sniff_encoding(chunks)
    else:
        encoding = stated_encoding(options.encoding, chunks.first())
    traits = Traits()
    # Sniffed UTF-8 is known to decode; what was stated is checked by decoding it.
    found = options.encoding is None and encoding.codec == "utf-8" and encoding.errors == "strict"
    as_it_is = found and not encoding.bom and not chunks.zipped
    if as_it_is:
        for chunk in chunks:
            traits.add(chunk)
    if not as_it_is or traits.line_ending == "CR":
        content, traits = rewritten(chunks, encoding)
    if traits.size == 0:
        raise DataError(f"{name} is empty.", value=name, remedy="Check that the right file was given.")
    if traits.has_zeros:
        raise FileFormatError(
            f"{name} holds zero bytes, so it is not a text table.",
            value=name,
            remedy="State --format parquet or excel, or --encoding utf-16, if that is what it is.",
        )
    text = PlainText(name, content, encoding, traits.line_ending, traits.has_blank_lines, bool(traits.quotes % 2))
    if chunks.zipped:
        text.decisions.append("Unzipped (gzip).")
    if encoding.name not in ("ascii", "utf-8") or encoding.bom or encoding.errors != "strict":
        mark = " with a byte-order mark" if encoding.bom else f" ({encoding.reason})"
        text.decisions.append(f"Encoding {encoding.name}{mark}.")
    return text


def raw_bytes(source: str | Path | bytes) -> tuple[str, Path | bytes]:
    """A name for messages, and the path or the bytes ("-" is read to its end)."""
    if isinstance(source, bytes):
        return "the input", source
    if str(source) == "-":
        return "standard input", spooled(iter(lambda: sys.stdin.buffer.read(_CHUNK), b""))
    path = Path(source)
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a table.", value=str(path), remedy="Give the path of one file.")
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.", value=str(path), remedy="Check the path.")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path} may not be read.", value=str(path), remedy="Check its permissions.")
    return str(path), path


class Chunks:
    """The bytes of a file, unzipped, in pieces; can be read again and again."""

    def __init__(self, name: str, content: Path | bytes) -> None:
        self.name, self.content = name, content
        with self.open() as stream:
            self.zipped = stream.read(2) == b"\x1f\x8b"

    def open(self) -> BinaryIO:
        return BytesIO(self.content) if isinstance(self.content, bytes) else self.content.open("rb")

    def first(self) -> bytes:
        return next(iter(self), b"")

    def __iter__(self) -> Iterator[bytes]:
        with self.open() as raw:
            stream: Any = gzip.GzipFile(fileobj=raw) if self.zipped else raw
            try:
                while chunk := stream.read(_CHUNK):
                    yield chunk
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise FileFormatError(
                    f"{self.name} is a damaged gzip file: {error}.",
                    value=self.name,
                    remedy="Fetch the file again.",
                ) from error


class Traits:
    """What the bytes of UTF-8 text show while they pass: line ends, quotes, blank lines."""

    def __init__(self) -> None:
        self.size = 0
        self.returns = self.feeds = self.pairs = False
        self.has_blank_lines = self.has_zeros = False
        self.quotes = 0
        self.last = b""

    def add(self, chunk: bytes) -> None:
        seen = self.last + chunk
        self.size += len(chunk)
        self.has_zeros = self.has_zeros or b"\0" in chunk
        self.quotes += chunk.count(b'"')
        self.returns = self.returns or b"\r" in chunk
        self.feeds = self.feeds or b"\n" in chunk
        self.pairs = self.pairs or (self.returns and b"\r\n" in seen)
        self.has_blank_lines = self.has_blank_lines or b"\n\n" in seen or (self.pairs and b"\n\r\n" in seen)
        if self.size == len(chunk) and chunk[:1] in (b"\n", b"\r"):
            self.has_blank_lines = True
        self.last = seen[-2:]

    @property
    def line_ending(self) -> str:
        if self.pairs:
            return "CRLF"
        return "LF" if self.feeds else "CR" if self.returns else "none"


def rewritten(chunks: Chunks, encoding: Encoding) -> tuple[Path | bytes, Traits]:
    """Decode into UTF-8 with line feeds: in memory while short, else in a temporary file removed with the process."""
    traits = Traits()

    def utf8() -> Iterator[bytes]:
        for text in decoded(chunks, encoding):
            data = text.encode("utf-8", errors="replace")
            traits.add(data)
            yield data

    try:
        content = spooled(utf8())
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{chunks.name} is not {encoding.name}: byte {error.start} of a piece does not decode ({error.reason}).",
            value=encoding.name,
            remedy="Leave --encoding out to have it found, or state another, such as latin-1.",
        ) from error
    if traits.line_ending == "CR":
        content = with_line_feeds(content)
        traits.has_blank_lines = True  # they were not looked for with returns: let the careful reader decide
    return content, traits


def spooled(pieces: Iterable[bytes]) -> Path | bytes:
    """The pieces joined: as bytes while short, else in a temporary file."""
    buffer, path = BytesIO(), None
    with contextlib.ExitStack() as stack:
        stream: BinaryIO = buffer
        for piece in pieces:
            stream.write(piece)
            if path is None and buffer.tell() > _IN_MEMORY:
                path = temporary_file()
                stream = stack.enter_context(path.open("wb"))
                stream.write(buffer.getvalue())
                buffer = BytesIO()
    return buffer.getvalue() if path is None else path


def with_line_feeds(content: Path | bytes) -> bytes:
    """Old Macintosh line ends become line feeds (such files are small)."""
    return (content if isinstance(content, bytes) else content.read_bytes()).replace(b"\r", b"\n")


def temporary_file() -> Path:
    handle, name = tempfile.mkstemp(prefix="credo-", suffix=".txt")
    os.close(handle)
    path = Path(name)
    weakref.finalize(_ANCHOR, path.unlink, missing_ok=True)
    return path


class _Anchor:
    """Lives as long as the module: its finalizers remove temporary files when the interpreter ends."""


_ANCHOR = _Anchor()


def stated_encoding(name: str, head: bytes) -> Encoding:
    """The encoding the user stated, past its byte-order mark if there is one."""
    marked = sniff_encoding([head]) if head else None
    bom = marked.bom if marked is not None else 0
    codec = marked.codec if marked is not None and bom else name
    return Encoding(name, codec, bom, "stated")
