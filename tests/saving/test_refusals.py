"""What cannot be saved is refused by name; what should not be opened is not."""

from __future__ import annotations

import datetime
import enum
import io
import json
import zipfile
import zoneinfo
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from credo.errors import CredoError, FileFormatError, ParameterError, SaveError
from credo.saving import describe, load, register, save
from credo.saving.archive import archive_writer
from tests.saving.samples import Estimator, Pair, Plain, Record


class Unregistered:
    pass


class Colour(enum.IntEnum):
    RED = 1


def kernel_function(x: float) -> float:
    return x


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (
            Estimator(kernel=Record("k", kernel_function)),
            "model.kernel.value is code (function 'kernel_function')",
        ),
        (Record("k", [0, {"f": lambda x: x}]), "model.value[1]['f'] is code"),
        (Record("k", Unregistered), "model.value is code (type 'Unregistered')"),
        (Record("k", np.log), "model.value is code"),
        (Record("k", [].append), "model.value is code"),
        (Record("k", io), "model.value is code (module 'io')"),
        (Record("k", Unregistered()), "model.value is a tests.saving.test_refusals.Unregistered"),
        (Record("k", Colour.RED), "model.value is a tests.saving.test_refusals.Colour"),
        (Record("\ud800"), "model.name holds a lone surrogate"),
        ({"a": {"\udc00": 1}}, "model['a'] holds a lone surrogate"),
        ({(1, object): 2}, "key model[(1, <class 'object'>)][1] is code"),
        (np.ma.masked_array([1.0, 2.0], mask=[True, False]), "Save its data and its mask"),
        (np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]), "Save its fields as separate arrays"),
        (np.longdouble(1), "scalar of type"),
        (np.zeros(2, np.longdouble), "array of unsaved type"),
        (np.array([kernel_function], dtype=object), "model[0] is code"),
        (scipy.sparse.coo_array(np.eye(2)), "Call .tocsr() first"),
        (datetime.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")), "only UTC and fixed offsets"),
        (iter([1]), "has no data form"),
    ],
)
def test_what_is_not_data_is_refused_by_its_place(model: Any, place: str, tmp_path: Any) -> None:
    with pytest.raises(SaveError) as caught:
        save(model, tmp_path / "m")
    assert place in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_cycles_and_depth() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    with pytest.raises(SaveError, match=r"model\[1\]\['again'\] refers back to model: a cycle"):
        save(loop, io.BytesIO())
    deep: Any = 0
    for _ in range(150):
        deep = [deep]
    with pytest.raises(SaveError, match="100 levels"):
        save(deep, io.BytesIO())


def test_about_holds_no_arrays() -> None:
    with pytest.raises(ParameterError, match="about"):
        save(1, io.BytesIO(), about={"x": np.zeros(3)})


@pytest.mark.parametrize("path", [3, None, io.StringIO(), ["a"], "a\0b"])
def test_not_a_path(path: Any) -> None:
    for call in (lambda: save(1, path), lambda: load(path), lambda: describe(path)):
        with pytest.raises(ParameterError, match="path"):
            call()


def test_registering() -> None:
    for version in (0, 1.0, True, "1"):
        with pytest.raises(ParameterError, match="version"):
            register(Unregistered, version=version)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="belongs to"):
        register(Unregistered, name="tests.saving.samples:Record")

    class Child(Record):
        pass

    with pytest.raises(SaveError, match="Child"):
        save(Child("a"), io.BytesIO())
    register(Unregistered)
    with pytest.raises(SaveError, match=r"no state\(\) and from_state\(\)"):
        save(Unregistered(), io.BytesIO())


# -- files made by hand --------------------------------------------------------------------------


def crafted(tree: Any, *, arrays: tuple[bytes, ...] = (), **manifest: Any) -> io.BytesIO:
    """A file whose checksums are right and whose contents are a stranger's."""
    file = io.BytesIO()
    data = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    with archive_writer(file) as writer:
        for i, array in enumerate(arrays):
            writer.add(f"arrays/{i}.npy", [array], len(array))
        writer.add("object.json", [data], len(data))
        writer.finish({"credo": "9.9", "class": "x", "class_version": 1, "about": {"dict": {}}, **manifest})
    return file


def thing(name: Any, version: Any = 1, state: Any = None) -> Any:
    return {"object": {"class": name, "version": version, "state": state or {}}}


def npy(descr: str, shape: str, data: bytes, fortran: str = "False") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    "tree",
    [
        thing("os:system"),
        thing("builtins:eval", 1, {"source": "1"}),
        thing("subprocess:Popen", 1, {"args": "touch /tmp/owned"}),
        thing("credo.errors:shown", 1, {"value": 1}),
        thing("credo.saving.registry:register"),
        thing("credo.saving.files:save"),
        thing("credo.saving.files:os"),
        thing("credo.no.such.module:Thing"),
        thing("credo.__main__:Thing"),
        thing("credo:Thing"),
        thing("credo..errors:Thing"),
        thing("credo.errors:Thing:More"),
        thing("credо.errors:Thing"),  # a Cyrillic o
        thing(3),
        thing("tests.saving.samples:Record", "1", {"name": "a"}),
        thing("tests.saving.samples:Record", True, {"name": "a"}),
        thing("tests.saving.samples:Record", 1, {"name": "a", "other": 1}),
        thing("tests.saving.samples:Record", 1, {"__class__": 1}),
        thing("tests.saving.samples:Record", 1, ["name"]),
        thing("tests.saving.samples:Estimator", 1, {"kernel": 1, "no_such": 2}),
        thing("tests.saving.samples:Plain", 2, {"old": 2}),
        {"object": {"class": "tests.saving.samples:Record"}},
        {"unknown": 1},
        {},
        {"tuple": [1], "list": [2]},
        {"tuple": 3},
        {"int": "ten"},
        {"int": 3},
        {"float": "1e5"},
        {"complex": [1.0]},
        {"complex": ["a", 1.0]},
        {"bytes": "é"},
        {"bytes": "a"},
        {"fraction": [1, 0]},
        {"datetime": ["yesterday", 0]},
        {"date": "2024-02-30"},
        {"set": [[1]]},
        {"pairs": [[[1], 2]]},
        {"pairs": [[1]]},
        {"dict": [1]},
        {"array": 0},
        {"array": -1},
        {"array": "0"},
        {"scalar": ["<f8", "a"]},
        {"scalar": ["|O", 1]},
        {"scalar": ["f8,f8", 1]},
        {"scalar": ["(1000000000,)<f8", 1.0]},
        {"scalar": ["<i1", 300]},
        {"scalar": ["<f4", 1e300]},
        {"scalar": ["<f4", 0.1]},
        {"scalar": ["|a4", "x"]},
        {"scalar": ["<M8[fortnight]", {"bytes": "AAAAAAAAAAA="}]},
        {"scalar": ["|i1", 300]},
        {"scalar": ["<M8[ns]", {"bytes": "AAA="}]},
        {"objects": [[2], [1]]},
        {"objects": [[-1, 10**30], [1]]},
        {"sparse": {"kind": "coo_array", "shape": [1, 1]}},
        {"sparse": {"kind": "csr_array", "shape": [2, 2]}},
        {"generator": {"kind": "Generator", "bits": "Generator", "state": {"dict": {}}, "seed": None}},
        {"generator": {"kind": "Generator", "bits": "PCG64", "state": {"dict": {}}, "seed": None}},
        {
            "generator": {
                "kind": "Generator",
                "bits": "PCG64",
                "state": None,
                "seed": {"dict": {"pool_size": 10**9}},
            }
        },
        b"",
        b"[1, NaN]",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[" * 500 + b"]" * 500,
        b"9" * 10_000,
    ],
    ids=lambda tree: str(tree)[:40],
)
def test_a_stranger_s_tree_builds_nothing(tree: Any) -> None:
    with pytest.raises(FileFormatError):
        load(crafted(tree))


@pytest.mark.parametrize(
    "data",
    [
        npy("|O", "(1,)", b"\x80\x04N."),
        npy("<f8", "(1000000000000,)", bytes(8)),
        npy("<f8", "(2,)", bytes(8)),
        npy("<f8", "(1,)", bytes(16)),
        npy("<f8", "(0, 9999999999999999999)", b""),
        npy("<U0", "(9999999999,)", b""),
        npy("<f8", "(__import__('os').getpid(),)", bytes(8)),
        npy("<f8", "(1,)", bytes(8), fortran="Maybe"),
        npy("<U1", "(1,)", b"\xff\xff\xff\xff"),
        npy("|b1", "(1,)", b"\x02"),
        npy(">f8", "(1,)", bytes(8)).replace(b"\x01\x00", b"\x02\x00", 1),
        npy("<f16", "(1,)", bytes(16)),
        npy("f8,f8", "(1,)", bytes(16)),
        b"",
        b"\x93NUMPY\x01\x00\xff\xff",
    ],
    ids=lambda data: str(data[:50]),
)
def test_a_stranger_s_array_is_refused(data: bytes) -> None:
    with pytest.raises(FileFormatError):
        load(crafted({"array": 0}, arrays=(data,)))


def test_sparse_indices_outside_the_matrix_are_refused() -> None:
    parts = (
        npy("<f8", "(1,)", bytes(8)),
        npy("<i4", "(1,)", b"\x00\x00\x00\x40"),
        npy("<i4", "(2,)", b"\0\0\0\0\1\0\0\0"),
    )
    tree = {
        "kind": "csr_array",
        "shape": [1, 3],
        **{n: {"array": i} for i, n in enumerate(["data", "indices", "indptr"])},
    }
    with pytest.raises(FileFormatError, match="indices"):
        load(crafted({"sparse": tree}, arrays=parts))


def test_an_array_that_nothing_uses_is_refused() -> None:
    with pytest.raises(FileFormatError, match="nothing points to"):
        load(crafted([1], arrays=(npy("<f8", "(1,)", bytes(8)),)))


def test_newer_versions_ask_for_an_upgrade() -> None:
    with pytest.raises(FileFormatError, match=r"format 2 \(written by Credo 9.9\).*Upgrade Credo"):
        load(crafted([1], format=2))
    with pytest.raises(FileFormatError, match=r"version 3 of .*Plain.*newer.*Upgrade Credo"):
        load(crafted(thing("tests.saving.samples:Plain", 3, {"new": 1})))
    assert describe(crafted(thing("elsewhere:Thing"), **{"class": "elsewhere:Thing"})).class_name == "elsewhere:Thing"


def test_older_class_versions_are_told_their_version() -> None:
    assert load(crafted(thing("tests.saving.samples:Plain", 1, {"old": 5}))).new == 5


def test_a_missing_field_takes_its_default() -> None:
    assert load(crafted(thing("tests.saving.samples:Record", 1, {"name": "a"}))) == Record("a")
    with pytest.raises(FileFormatError, match="right"):
        load(crafted(thing("tests.saving.samples:Pair", 1, {"left": 1})))
    assert load(crafted(thing("tests.saving.samples:Pair", 1, {"left": 1, "right": 2}))) == Pair(1, 2)


def repacked(change: Any) -> io.BytesIO:
    """A good file with its members as `change` (name → bytes, options) wants them."""
    source, target = io.BytesIO(), io.BytesIO()
    save(Record("a", np.zeros(100_000)), source)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            change(new, info.filename, old.read(info))
    return target


def test_compressed_members_are_refused_so_that_nothing_expands() -> None:
    def squeeze(new: zipfile.ZipFile, name: str, data: bytes) -> None:
        new.writestr(name, data, zipfile.ZIP_DEFLATED if name.endswith("npy") else zipfile.ZIP_STORED)

    with pytest.raises(FileFormatError, match="compressed"):
        load(repacked(squeeze))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_twice_missing_or_extra() -> None:
    def twice(new: zipfile.ZipFile, name: str, data: bytes) -> None:
        new.writestr(name, data)
        new.writestr(name, data)

    def without(new: zipfile.ZipFile, name: str, data: bytes) -> None:
        if not name.endswith("npy"):
            new.writestr(name, data)

    def extra(new: zipfile.ZipFile, name: str, data: bytes) -> None:
        new.writestr(name, data)
        if name == "object.json":
            new.writestr("../../etc/passwd", b"x")

    for change, message in ((twice, "duplicate"), (without, "arrays/0.npy"), (extra, "unexpected.*passwd")):
        with pytest.raises(FileFormatError, match=message):
            load(repacked(change))


def test_contents_exchanged_under_a_valid_zip_checksum() -> None:
    def exchange(new: zipfile.ZipFile, name: str, data: bytes) -> None:
        new.writestr(name, data[:-1] + b"\x01" if name.endswith("npy") else data)

    with pytest.raises(FileFormatError, match=r"checksum of 'arrays/0.npy'"):
        load(repacked(exchange))


def test_other_files(tmp_path: Any) -> None:
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a", "b")
    for data in (b"", b"PK", b"a,b\n1,2\n", other.getvalue(), b"\x80\x04N.", bytes(1000)):
        path = tmp_path / "f"
        path.write_bytes(data)
        with pytest.raises(FileFormatError, match=r"f: .*not a Credo file"):
            load(path)


def test_the_error_names_the_file_and_is_a_value_error(tmp_path: Any) -> None:
    path = tmp_path / "model.credo"
    save(np.arange(1000.0), path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"model\.credo: the file is damaged or truncated") as caught:
        load(path)
    assert isinstance(caught.value, CredoError)


def test_plain_object_state_must_have_text_keys() -> None:
    class Odd(Plain):
        def state(self) -> Any:
            return {1: 2}

    register(Odd)
    with pytest.raises(SaveError, match="text keys"):
        save(Odd(1), io.BytesIO())
