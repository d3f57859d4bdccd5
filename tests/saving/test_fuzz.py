"""Damaged and forged files: always a `CredoError` or an object, in bounded time and memory."""

from __future__ import annotations

import contextlib
import io
import json
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from credo.errors import CredoError
from credo.saving import describe, is_credo_file, load, save
from credo.saving.archive import archive_writer
from tests.saving.samples import Estimator, rich_model, same

FILES = 1500
#: ten times what one load takes on a slow core; a bomb would take minutes
SECONDS_A_FILE = 1.0
#: directory entries and JSON values cost Python objects: measured below 40 bytes a byte
BYTES_A_BYTE = 100


@pytest.fixture(scope="module")
def original() -> bytes:
    file = io.BytesIO()
    save(rich_model(), file)
    return file.getvalue()


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """Flipped bits, a truncation, or a stretch overwritten, removed or repeated."""
    damaged = bytearray(data)
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 64))
    match rng.integers(6):
        case 0 | 1:
            for place in rng.integers(len(data), size=rng.integers(1, 5)):
                damaged[place] ^= 1 << int(rng.integers(8))
        case 2:
            del damaged[start:]
        case 3:
            damaged[start : start + length] = rng.bytes(length)
        case 4:
            del damaged[start : start + length]
        case 5:
            damaged[start:start] = damaged[start : start + length]
    return bytes(damaged)


def comparable(model: Estimator) -> dict[str, object]:
    return {name: value for name, value in vars(model).items() if name not in ("rng_", "_cache")}


def test_a_damaged_file_is_an_error_or_the_same_object(original: bytes) -> None:
    rng, expected, refused = np.random.default_rng(20), comparable(rich_model()), 0
    tracemalloc.start()
    try:
        for _ in range(FILES):
            damaged, start = damage(original, rng), time.perf_counter()
            is_credo_file(io.BytesIO(damaged))
            try:
                loaded = load(io.BytesIO(damaged))
                assert same(comparable(loaded), expected)
            except CredoError:
                refused += 1
            assert time.perf_counter() - start < SECONDS_A_FILE
        assert tracemalloc.get_traced_memory()[1] < BYTES_A_BYTE * len(original)
    finally:
        tracemalloc.stop()
    assert 0.8 * FILES < refused < FILES  # a few flips fall where a zip keeps nothing, such as its timestamps


def test_every_truncation_is_refused(original: bytes) -> None:
    for length in range(0, len(original), 37):
        with pytest.raises(CredoError):
            load(io.BytesIO(original[:length]))


@pytest.mark.parametrize("target", ["object.json", "arrays/0.npy", "manifest.json"])
def test_a_forged_part_under_right_checksums_is_an_error_or_an_object(original: bytes, target: str) -> None:
    rng = np.random.default_rng(21)
    with zipfile.ZipFile(io.BytesIO(original)) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    for _ in range(FILES // 5):
        forged = {**parts, target: damage(parts[target], rng)}
        start = time.perf_counter()
        for read in (load, describe):
            with contextlib.suppress(CredoError):
                read(signed(forged))
        assert time.perf_counter() - start < SECONDS_A_FILE


def signed(parts: dict[str, bytes]) -> io.BytesIO:
    """The parts as a file whose manifest agrees with them, unless the manifest itself is the forgery."""
    file = io.BytesIO()
    with archive_writer(file) as writer:
        for name, data in parts.items():
            if name not in ("mimetype", "manifest.json"):
                writer.add(name, [data], len(data))
        try:
            manifest = json.loads(parts["manifest.json"])
            del manifest["members"]
            writer.finish(manifest)
        except (ValueError, KeyError, AttributeError, TypeError):
            writer._write("manifest.json", [parts["manifest.json"]], len(parts["manifest.json"]))
    return file
