"""save then load gives an equal object: every kind of value, alone and nested."""

from __future__ import annotations

import datetime
import fractions
import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from sklearn.base import BaseEstimator, clone

from credo.errors import shown
from credo.saving import describe, is_credo_file, load, register, save
from tests.saving.samples import Estimator, Record, rich_model, same, values


def through(value: Any) -> Any:
    file = io.BytesIO()
    save(value, file)
    return load(file)


@settings(max_examples=250)
@given(values)
def test_whatever_is_saved_is_loaded(value: Any) -> None:
    loaded = through(value)
    assert same(loaded, value)
    assert written(loaded) == written(through(loaded))


def written(value: Any) -> bytes:
    file = io.BytesIO()
    save(value, file)
    return file.getvalue()


@pytest.mark.parametrize(
    "value",
    [
        2**53 + 1,
        -(10**5000),
        -0.0,
        5e-324,
        float("-inf"),
        complex(float("nan"), -0.0),
        "\0 ψ 𝔹 \u2028",
        fractions.Fraction(10**40, 3),
        datetime.datetime(2024, 10, 27, 2, 30, fold=1),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
        {"float": "nan"},
        {"dict": {"array": 0}},
        {1: "a", "1": "b", None: "c", (1, (2,)): "d", frozenset({1}): "e"},
        {"b": 1, "a": 2},
        [],
        (),
        set(),
        {},
        np.float32(0.1),
        np.float16(0.1),
        np.uint64(2**64 - 1),
        np.str_("ψ"),
        np.str_(""),
        np.bytes_(b"a"),
        np.bool_(True),
        np.datetime64("2020-01-01T00:00:00.123456789"),
        np.datetime64("NaT"),
        np.timedelta64(3, "D"),
        np.array(3.5),
        np.zeros((0, 3), np.float32),
        np.zeros((3, 0, 2)),
        np.array(["", "ab", "ψψψ"]),
        np.array([b"", b"ab"]),
        np.array([[1, "a"], [None, (2, 3)]], dtype=object),
        np.array(["2020-01", "NaT"], dtype="M8[M]"),
    ],
    ids=lambda value: f"{type(value).__name__} {shown(value, 16)!a}",
)
def test_awkward_values(value: Any) -> None:
    assert same(through(value), value)


def test_object_array_of_equal_lists_keeps_its_shape() -> None:
    array = np.empty(2, dtype=object)
    array[0], array[1] = [1, 2], np.array([3, 4])
    loaded = through(array)
    assert loaded.shape == (2,)
    assert loaded[0] == [1, 2]
    assert same(loaded[1], array[1])


def test_arrays_come_back_native_writeable_and_in_their_order() -> None:
    big_endian = np.arange(6, dtype=">f8").reshape(2, 3)
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    strided = np.arange(20.0)[::-3]
    a, b, c = through([big_endian, fortran, strided])
    assert a.dtype == np.dtype("<f8")
    np.testing.assert_array_equal(a, big_endian)
    assert b.flags.f_contiguous
    assert not b.flags.c_contiguous
    np.testing.assert_array_equal(b, fortran)
    np.testing.assert_array_equal(c, strided)
    c[0] = 1.0


def test_one_array_in_two_places_is_stored_once_and_stays_shared() -> None:
    array = np.arange(1000.0)
    loaded = through({"prior": array, "posterior": [array]})
    assert loaded["prior"] is loaded["posterior"][0]
    assert len(written([array, array])) < 1.3 * array.nbytes


def test_a_memory_map_is_saved_as_an_array(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "m", dtype=np.float64, mode="w+", shape=(3,))
    mapped[:] = [1.0, 2.0, 3.0]
    assert same(through(mapped), np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "csc_matrix"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_sparse(kind: str, dtype: Any) -> None:
    dense = np.random.default_rng(0).poisson(0.4, size=(5, 7)).astype(dtype)
    matrix = getattr(scipy.sparse, kind)(dense)
    assert same(through(matrix), matrix)


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_generators_continue_and_spawn_alike(bits: str) -> None:
    rng = np.random.Generator(getattr(np.random, bits)(np.random.SeedSequence(5, spawn_key=(2,))))
    rng.normal(size=3)
    loaded = through(rng)
    np.testing.assert_array_equal(loaded.normal(size=4), rng.normal(size=4))
    np.testing.assert_array_equal(loaded.spawn(1)[0].normal(size=4), rng.spawn(1)[0].normal(size=4))


def test_legacy_random_state_continues() -> None:
    state = np.random.RandomState(3)
    state.normal()  # leaves the second of a pair waiting
    loaded = through(state)
    np.testing.assert_array_equal(loaded.normal(size=5), state.normal(size=5))


def test_registered_shapes() -> None:
    model = rich_model()
    loaded = through(model)
    assert same(loaded.kernel, model.kernel)
    assert same({k: v for k, v in vars(loaded).items() if k != "rng_"}, visible(model))
    assert not hasattr(loaded, "_cache")


def visible(model: Estimator) -> dict[str, Any]:
    return {k: v for k, v in vars(model).items() if k not in ("rng_", "_cache")}


def test_a_scikit_learn_estimator_keeps_parameters_fit_and_output_configuration() -> None:
    register(Shift)
    model = Shift(by=2.0).fit(np.ones((3, 2)))
    model._sklearn_output_config = {"transform": "pandas"}
    loaded = through(model)
    assert clone(loaded).get_params() == {"by": 2.0}
    assert loaded._sklearn_output_config == {"transform": "pandas"}
    np.testing.assert_array_equal(loaded.mean_, model.mean_)


class Shift(BaseEstimator):
    def __init__(self, by: float = 1.0) -> None:
        self.by = by

    def fit(self, X: Any, y: Any = None) -> Shift:
        self.mean_ = X.mean(axis=0) + self.by
        return self


def test_same_model_same_bytes() -> None:
    assert written(rich_model()) == written(rich_model())


def test_bytes_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import sys, credo.saving as s; "
        "s.save({'words': {'a','b','c','d','e'}, 'n': frozenset({(1,'x'),(2,'y')})}, sys.stdout.buffer)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True, capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(outputs) == 1
    assert load(io.BytesIO(outputs.pop()))["words"] == set("abcde")


def test_credo_classes_load_in_a_fresh_process_that_imported_nothing(tmp_path: Any) -> None:
    """Whatever the importing code knew: the loader finds the module by the stored name."""
    code = (
        "import sys, credo.saving as s; assert 'credo.tables.features' not in sys.modules; "
        "m = s.load(sys.argv[1]); print(type(m).__module__, m.period)"
    )
    from credo.tables.features import Fourier

    save(Fourier(period=7.0), tmp_path / "m")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m")], env={"PYTHONPATH": ":".join(sys.path)},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["credo.tables.features.fourier", "7.0"]


def test_paths_and_file_objects(tmp_path: Any) -> None:
    for path in (tmp_path / "a.credo", str(tmp_path / "b"), bytes(tmp_path / "c")):
        save([1, 2], path)
        assert load(path) == [1, 2]
        assert is_credo_file(path)
    with open(tmp_path / "a.credo", "rb") as file:
        file.read(3)
        assert is_credo_file(file)
        assert file.tell() == 3
        assert load(file) == [1, 2]
    assert not is_credo_file(tmp_path / "missing")
    assert not is_credo_file(io.BytesIO(b"PK\x03\x04 a zip of another kind, long enough to be read"))


def test_describe_reads_without_building() -> None:
    file = io.BytesIO()
    save(Record("a", np.zeros(10)), file, about={"target": "price", "rows": 3})
    found = describe(file)
    assert found.class_name == "tests.saving.samples:Record"
    assert (found.class_version, found.format_version) == (1, 1)
    assert found.n_bytes == len(file.getvalue())
    assert found.members["arrays/0.npy"] == 128 + 80
    assert found.about == {"target": "price", "rows": 3}


def test_numpy_reads_the_arrays_too() -> None:
    import zipfile

    file = io.BytesIO()
    array = np.asfortranarray(np.random.default_rng(0).normal(size=(3, 4)))
    save([array, np.arange(3)], file)
    with zipfile.ZipFile(file) as archive:
        for name, expected in (("arrays/0.npy", array), ("arrays/1.npy", np.arange(3))):
            np.testing.assert_array_equal(np.load(io.BytesIO(archive.read(name)), allow_pickle=False), expected)
