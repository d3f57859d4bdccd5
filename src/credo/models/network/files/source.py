"""The text of a file, and errors that say where in it."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from dataclasses import dataclass
from typing import Any

from credo.errors import FileFormatError
from credo.models.network.files.limits import MAX_BYTES
from credo.saving.atomic import storage_errors

_XML_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]{0,100}?\sencoding\s*=\s*[\"']([\w.:-]{1,40})[\"']")

__all__ = ["NetworkFileError", "Source", "read_source"]


_LONG = 500


class NetworkFileError(FileFormatError):
    """A network's file that cannot be read; `line` and `column` (from 1) are where, and None if it is nowhere."""

    def __init__(
        self, path: str, place: tuple[int, int] | None, message: str, value: Any = None, remedy: str | None = None
    ) -> None:
        self.path = path
        self.line, self.column = place or (None, None)
        if len(message) > 2 * _LONG:  # a file's names may be of any length
            message = f"{message[:_LONG]} … {message[-_LONG:]}"
        where = f"{path}, line {self.line}, column {self.column}" if place else path
        super().__init__(f"{where}: {message}.", value=value, remedy=remedy)


@dataclass(frozen=True)
class Source:
    """`data`: UTF-8 without a byte-order mark; `path` names it in messages.

    `original`: of the same length, where `data` has been blanked in places; columns are counted there.
    """

    data: bytes
    path: str
    original: bytes | None = None

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, in characters from 1, of a byte."""
        data = self.data if self.original is None else self.original
        start = data.rfind(b"\n", 0, offset) + 1
        return data.count(b"\n", 0, offset) + 1, len(data[start:offset].decode("utf-8", "replace")) + 1

    def error(self, offset: int, message: str, value: Any = None, remedy: str | None = None) -> NetworkFileError:
        return NetworkFileError(self.path, self.place(offset), message, value, remedy)


def read_source(path: Any, encoding: str | None) -> Source:
    """The file's text, unpacked if it is a gzip file, at most `MAX_BYTES` of it.

    Raises
    ------
    MissingFileError, StorageError : the system refuses
    NetworkFileError : not in the encoding, damaged gzip, too large
    """
    name = os.fsdecode(path)
    with storage_errors("read", path), open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            data = (gzip.GzipFile(fileobj=file) if packed else file).read(MAX_BYTES + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise NetworkFileError(name, None, f"the gzip file is damaged ({error})") from error
    if len(data) > MAX_BYTES:
        raise NetworkFileError(name, None, f"networks of more than {MAX_BYTES >> 20} MB are not read")
    return decoded(data, name, encoding)


def decoded(data: bytes, name: str, encoding: str | None = None) -> Source:
    """Bytes in any encoding as a `Source`: by default in what an XML file declares, or UTF-8."""
    if encoding is None:
        declared = _XML_ENCODING.match(data)
        encoding = str(declared[1], "ascii") if declared else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Source(data, name).error(
            error.start,
            f"the byte {error.object[error.start]:#04x} is not {encoding}",
            value=error.object[error.start],
            remedy='State the file\'s encoding, encoding="latin-1" for instance.',
        ) from error
    except (LookupError, UnicodeError) as error:
        raise NetworkFileError(name, (1, 1), f"it cannot be read as {encoding!r}", value=encoding) from error
    return Source(text.removeprefix("\ufeff").encode("utf-8", "replace"), name)


def without_comments(source: Source, comments: re.Pattern[bytes], mark: bytes) -> Source:
    """Comments as blanks of the same length, so that places stay; quoted text is left alone.

    `mark` is the byte that every comment begins with; `comments` matches comments, and quoted text to pass over it.
    """
    if mark not in source.data:
        return source

    def blank(match: re.Match[bytes]) -> bytes:
        found = match[0]
        if found.startswith(b'"'):
            return found
        if found.startswith(b"/*") and not (len(found) > 3 and found.endswith(b"*/")):
            raise source.error(match.start(), "the comment is not closed", remedy="Close it with */.")
        return _NOT_LINE_END.sub(b" ", found)

    return Source(comments.sub(blank, source.data), source.path, source.data)


_NOT_LINE_END = re.compile(rb"[^\n]")
