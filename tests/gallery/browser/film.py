"""A program that makes a film, as `credo gallery --render-command` runs them: a square that moves, in WebM.

    python film.py OUT HUE WIDTH HEIGHT [slow]

WebM is Matroska with VP8, and a WebP picture is one VP8 key frame in a RIFF: Pillow writes these, the rest is boxes.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

FRAMES, MILLISECONDS = 12, 50


def frame(hue: float, width: int, height: int, share: float) -> bytes:
    """A VP8 key frame."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (width, height), "white")
    left, size = share * 0.7 * width, 0.3 * height
    colour = f"hsl({int(360 * hue)}, 70%, 45%)"
    ImageDraw.Draw(picture).rectangle((left, 0.35 * height, left + size, 0.35 * height + size), fill=colour)
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=70)
    riff = file.getvalue()
    assert riff[12:16] == b"VP8 ", "a lossy picture without extensions"
    return riff[20 : 20 + int.from_bytes(riff[16:20], "little")]


def box(name: str, *content: bytes) -> bytes:
    """An EBML element: its name, its length in eight bytes, what it holds."""
    body = b"".join(content)
    return bytes.fromhex(name) + (len(body) | 1 << 56).to_bytes(8, "big") + body


def number(name: str, value: int) -> bytes:
    return box(name, value.to_bytes(4, "big"))


def film(hue: float, width: int, height: int) -> bytes:
    """The file."""
    head = box("1A45DFA3", number("4286", 1), number("42F7", 1), number("42F2", 4), number("42F3", 8),
               box("4282", b"webm"), number("4287", 2), number("4285", 2))  # fmt: skip
    info = box("1549A966", number("2AD7B1", 1_000_000), box("4D80", b"credo"), box("5741", b"credo"))
    video = box("E0", number("B0", width), number("BA", height))
    tracks = box("1654AE6B", box("AE", number("D7", 1), number("73C5", 1), number("83", 1), box("86", b"V_VP8"), video))
    blocks = [
        box("A3", b"\x81", (MILLISECONDS * i).to_bytes(2, "big"), b"\x80", frame(hue, width, height, i / FRAMES))
        for i in range(FRAMES)
    ]
    return head + box("18538067", info, tracks, box("1F43B675", number("E7", 0), *blocks))


if __name__ == "__main__":
    out, hue, width, height, *slow = sys.argv[1:]
    if slow == ["true"]:
        time.sleep(60)
    Path(out).write_bytes(film(float(hue), int(width), int(height)))
