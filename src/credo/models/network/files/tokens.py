"""Words, quoted text and signs, one at a time: what BIF and Hugin NET are made of."""

from __future__ import annotations

import re

from credo.models.network.files.source import NetworkFileError, Source

__all__ = ["Token", "Tokens", "quoted", "token_pattern"]

_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_TO_ESCAPE = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def token_pattern(signs: bytes, blanks: bytes = b"") -> re.Pattern[bytes]:
    """Blanks (also those given), then one of: a sign (group 1), quoted text (2, perhaps unclosed), another word (3)."""
    blank, own = re.escape(blanks), re.escape(signs)
    return re.compile(
        rb"[\s%s]*+(?:([%s])|(\"(?:[^\"\\]|\\.)*+(?:\"|\Z|\\\Z))|([^\s\"%s%s]++))?+" % (blank, own, own, blank),
        re.DOTALL,
    )


def quoted(text: str) -> str:
    """In double quotes, with ``\\"``, ``\\\\``, ``\\n``, ``\\t``, ``\\r`` for what cannot stand there."""
    return f'"{text.translate(_TO_ESCAPE)}"'


class Token:
    """`raw` as written, `offset` where it begins, `kind` "sign", "quoted", "word" or "end"."""

    __slots__ = ("kind", "offset", "raw")

    def __init__(self, raw: bytes, offset: int, kind: str) -> None:
        self.raw, self.offset, self.kind = raw, offset, kind

    @property
    def text(self) -> str:
        """What it names: quotes and escapes resolved."""
        if self.kind != "quoted":
            return self.raw.decode("utf-8", "replace")
        inner = self.raw[1:-1]
        if b"\\" in inner:
            inner = _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), inner)
        return inner.decode("utf-8", "replace")


class Tokens:
    """A cursor over a source: `token` is the one under it, `advance` moves on."""

    def __init__(self, source: Source, pattern: re.Pattern[bytes], offset: int = 0) -> None:
        self.source = source
        self._match = pattern.match
        self.jump(offset)

    def jump(self, offset: int) -> None:
        """Continue at a byte."""
        self.end = offset
        self.advance()

    def advance(self) -> Token:
        """The token under the cursor, which moves on."""
        passed = self.token if hasattr(self, "token") else None
        match = self._match(self.source.data, self.end)
        assert match is not None  # every part of the pattern may be empty
        self.end = match.end()
        group = match.lastindex
        if group is None:
            self.token = Token(b"", self.end, "end")
        else:
            self.token = Token(match[group], match.start(group), ("sign", "quoted", "word")[group - 1])
            if group == 2 and (len(match[2]) < 2 or _ESCAPED.sub(b"", match[2])[1:][-1:] != b'"'):
                raise self.source.error(match.start(2), "the quotation is not closed")
        return passed  # type: ignore[return-value]

    def at(self, raw: bytes) -> bool:
        """Whether the token under the cursor is this sign or bare word."""
        return self.token.raw == raw

    def skip(self, raw: bytes) -> bool:
        """Move on if at this sign or word; whether it was."""
        if self.token.raw != raw:
            return False
        self.advance()
        return True

    def expect(self, raw: bytes, where: str) -> Token:
        """This sign or word, or an error at its place."""
        if self.token.raw != raw:
            raise self.unexpected(f"{raw.decode()!r} {where}")
        return self.advance()

    def name(self, what: str) -> Token:
        """A word or quoted text, or an error at its place."""
        if self.token.kind not in ("word", "quoted"):
            raise self.unexpected(what)
        return self.advance()

    def unexpected(self, wanted: str) -> NetworkFileError:
        """The error for a token that is not what is wanted."""
        raw = self.token.raw[:60].decode("utf-8", "replace")
        found = "the file ends" if self.token.kind == "end" else f"{raw!r} stands"
        return self.source.error(self.token.offset, f"{found} where {wanted} is expected", value=raw)
