"""Which encoding bytes are in: by a byte-order mark, else UTF-8 if they decode, else the likeliest single-byte one."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["Encoding", "sniff_encoding", "decoded"]


@dataclass(frozen=True)
class Encoding:
    """`name` as a person would say it, the `codec` that decodes it, the length of its byte-order mark, and why."""

    name: str
    codec: str
    bom: int = 0
    reason: str = ""
    errors: str = "strict"


# Longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
# What Western European text holds beyond ASCII; a wrong decoding shows rare signs instead.
_COMMON = frozenset("éèêëàâäáãåçñóôöòõúùûüíîïìßæøœÿÉÈÊËÀÂÄÁÃÅÇÑÓÔÖÚÙÛÜÍÎØÆ’‘“”–—…€£°©®·«»¿¡ºª§²³½ \u00a0")
_PAIRS_KEPT = 4096  # high bytes with their neighbours: enough to tell encodings apart, whatever the file's length


def sniff_encoding(chunks: Iterable[bytes]) -> Encoding:
    """The encoding of a file given as chunks of bytes. Reads all of them, so that "UTF-8" holds to the last byte.

    Cost: a scan at memory speed for ASCII, a decoding for the rest.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    ascii_only, valid, evidence, previous, multibyte = True, True, bytearray(), b"", 0
    for index, chunk in enumerate(chunks):
        if index == 0 and (marked := _by_mark(chunk) or _by_zeros(chunk)):
            return marked
        if chunk.isascii() and not decoder.getstate()[0]:
            previous = chunk[-1:]
            continue
        ascii_only = False
        if valid:
            try:
                multibyte += len(chunk) - len(decoder.decode(chunk))
            except UnicodeDecodeError:
                valid = False
        if len(evidence) < 3 * _PAIRS_KEPT:
            evidence += _high_bytes(previous + chunk)
        previous = chunk[-1:]
    if ascii_only:
        return Encoding("ascii", "utf-8", reason="every byte is ASCII")
    if valid:
        try:
            decoder.decode(b"", final=True)
            return Encoding("utf-8", "utf-8", reason="every byte decodes as UTF-8")
        except UnicodeDecodeError:
            pass
    return _nearly_utf8(bytes(evidence)) or _single_byte(bytes(evidence))


def decoded(chunks: Iterable[bytes], encoding: Encoding) -> Iterator[str]:
    """Text of the chunks, without the byte-order mark."""
    decoder = codecs.getincrementaldecoder(encoding.codec)(encoding.errors)
    skip = encoding.bom
    for chunk in chunks:
        yield decoder.decode(chunk[skip:])
        skip = 0
    yield decoder.decode(b"", final=True)


def _by_mark(head: bytes) -> Encoding | None:
    for mark, name, codec in _MARKS:
        if head.startswith(mark):
            return Encoding(name, codec, len(mark), "byte-order mark")
    return None


def _by_zeros(head: bytes) -> Encoding | None:
    """UTF-16 without a mark: in Latin text every second byte is zero."""
    sample = head[:4096]
    if sample.count(0) < 0.3 * len(sample):
        return None
    little = sample[1::2].count(0) >= sample[0::2].count(0)
    return Encoding(
        "utf-16-le" if little else "utf-16-be",
        "utf-16-le" if little else "utf-16-be",
        reason="every second byte is zero",
    )


def _high_bytes(chunk: bytes) -> bytes:
    """Runs of bytes ≥ 0x80, each after the byte before it, joined by spaces."""
    kept, runs = bytearray(), 0
    position, length = 0, len(chunk)
    while position < length and runs < _PAIRS_KEPT:
        while position < length and chunk[position] < 0x80:
            position += 1
        start = position
        while position < length and chunk[position] >= 0x80:
            position += 1
        if start < length:
            kept += chunk[max(0, start - 1) : position] + b" "
            runs += 1
    return bytes(kept)


def _nearly_utf8(evidence: bytes) -> Encoding | None:
    """UTF-8 with a few broken bytes: far more sequences decode than fail."""
    text = evidence.decode("utf-8", errors="replace")
    broken, good = text.count("\ufffd"), sum(1 for c in text if ord(c) > 127) - text.count("\ufffd")
    if good > 10 * broken:
        return Encoding(
            "utf-8", "utf-8", reason=f"UTF-8 but for {broken} broken sequence(s), read as �", errors="replace"
        )
    return None


def _single_byte(evidence: bytes) -> Encoding:
    windows, mac = _plausibility(evidence, "cp1252"), _plausibility(evidence, "mac_roman")
    if mac > windows:
        return Encoding("mac_roman", "mac_roman", reason="not UTF-8; its letters are likelier in Mac Roman")
    if any(0x80 <= byte < 0xA0 for byte in evidence):
        return Encoding("cp1252", "cp1252", reason="not UTF-8; its signs are those of Windows-1252", errors="replace")
    return Encoding("latin-1", "latin-1", reason="not UTF-8; a Western European single-byte encoding")


def _plausibility(evidence: bytes, codec: str) -> float:
    """+1 a usual letter or sign, 0 a capital right after a small letter, −1 a rare sign or an undefined byte."""
    text = evidence.decode(codec, errors="replace")
    score = 0.0
    for before, sign in zip(" " + text, text):
        if ord(sign) < 128:
            continue
        if sign not in _COMMON:
            score -= 1
        elif not (sign.isupper() and before.islower()):
            score += 1
    return score
