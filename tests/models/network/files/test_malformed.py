"""Damaged, hostile and huge files: the named error with line and column, soon, and with little memory."""

import gzip
import re
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from credo.errors import FileFormatError, MissingFileError, ParameterError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.files import FORMATS, NetworkFileError, bif, read_network, write_network
from credo.models.network.files.bif_entries import RowTables
from credo.models.network.files.source import decoded

DATA = Path(__file__).parents[3] / "data" / "bayesnets"
HEAD = b"network x {}\nvariable a { type discrete [2] { t, f }; }\n"
ODD = NetworkDefinition(
    {"a b": ("Asy/Patch", 'x"y', "//c", "two words"), "n": (0, 1), "t": (True, False)},
    {"n": ("a b",), "t": ("n", "a b")},
    {"a b": [0.1, 0.2, 0.3, 0.4], "n": [[0.5, 0.5]] * 4, "t": [[[0.3, 0.7]] * 4] * 2},
    properties={"": ("hello; world",), "n": ("q } x",)},
)
PIECES = [
    *(bytes([code]) for code in b'\x00"\\{}()[]|,;=<>&%#\n'),
    *(
        b"\xff\xfe",
        b"//",
        b"/*",
        b"*/",
        b"<!--",
        b"]]>",
        b"<![CDATA[",
        b"&lt;",
        b"&x;",
        b'<!DOCTYPE x [<!ENTITY a "b">]>',
    ),
    *(
        b"nan",
        b"-1",
        b"1e999",
        b"0.5",
        b"9" * 21,
        b"1_0",
        "Ünïcödé".encode(),
        b"type discrete [ 99999999 ]",
        b"<TABLE>",
    ),
    *(b"table", b"default", b"property", b"probability", b"variable", b"node", b"potential", b"data", b"states"),
    *(piece * 3000 for piece in (b"(", b"{", b"<a>", b"9", b"a", b'"')),
]


def read(format, data):
    return FORMATS[format][0](decoded(data, "f"), False)


def text_of(format, definition):
    return "".join(FORMATS[format][1](definition, False)).encode()


def damaged(data, rng):
    """One to four of: cut off, a part left out, doubled or moved, bytes changed, something put in."""
    for _ in range(rng.integers(1, 5)):
        i, j = sorted(int(k) for k in rng.integers(0, len(data) + 1, 2))
        if rng.random() < 0.7:
            j = min(j, i + int(rng.integers(1, 40)))
        part, piece, at = data[i:j], PIECES[rng.integers(len(PIECES))], int(rng.integers(0, len(data) + 1))
        noise = rng.integers(0, 256, len(part), dtype=np.uint8).tobytes()
        data = (
            data[:j] if rng.random() < 0.1 else data,
            data[:i] + data[j:],
            data[:j] + part + data[j:],
            data[:at] + part + data[at:],
            data[:i] + noise + data[j:],
            data[:i] + piece + data[j:],
            data[:i] + b" " + piece + b" " + data[i:],
        )[rng.integers(7)]
    return data


SUBJECTS = {
    "asia.bif": ("bif", (DATA / "asia.bif").read_bytes()),
    "sprinkler.bif": ("bif", (DATA / "sprinkler.bif").read_bytes()),
    "dog.bifxml": ("xmlbif", (DATA / "dog.bifxml").read_bytes()),
    "asia.uai": ("uai", (DATA / "asia.uai").read_bytes()),
    "cancer.net": ("net", text_of("net", read_network(DATA / "cancer.bif"))),
    **{f"odd.{format}": (format, text_of(format, ODD)) for format in ("bif", "net", "xmlbif")},
}


def outcome(format, data):
    """What reading ended in, with the error's place checked."""
    try:
        return read(format, data)
    except NetworkFileError as caught:
        error = caught
    assert 1 <= error.line <= data.count(b"\n") + 1
    assert 1 <= error.column <= max(map(len, data.split(b"\n"))) + 1
    assert len(str(error)) < 3000
    return error


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_file_cut_anywhere_is_an_error_with_its_place(name):
    format, data = SUBJECTS[name]
    whole = read(format, data)
    for end in range(len(data.rstrip())):
        # A last number cut within its digits is a number still, and its row then sums to less than 1.
        assert isinstance(outcome(format, data[:end]), NetworkFileError), data[:end][-40:]
    assert outcome(format, data.rstrip()) == whole


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_damaged_file_is_a_network_or_the_named_error(name):
    format, data = SUBJECTS[name]
    rng = np.random.default_rng(list(name.encode()))
    kinds = {type(outcome(format, damaged(data, rng))) for _ in range(400)}
    assert kinds == {NetworkDefinition, NetworkFileError}


@pytest.mark.parametrize("name", [name for name, (format, _) in SUBJECTS.items() if format == "bif"])
def test_short_cuts_of_bif_accept_what_the_grammar_does(name, monkeypatch):
    """Patterns for ordinary blocks, and numbers in bulk, against word by word: on files that are nearly right."""
    data = SUBJECTS[name][1]
    rng = np.random.default_rng([2, *name.encode()])
    edits = []
    for _ in range(500):
        i, sign = int(rng.integers(len(data))), b' ,;()|"\n0.1e-+t{}'[rng.integers(17) :][:1]
        edits.append(data[:i] + sign + data[i + int(rng.integers(2)) :])
    quick = [outcome("bif", edit) for edit in edits]
    monkeypatch.setattr(RowTables, "_ordinary", lambda *_: None)
    for pattern in ("_PLAIN_VARIABLE", "_PLAIN_HEADER"):
        monkeypatch.setattr(bif, pattern, re.compile(b"(?!)"))
    for edit, result in zip(edits, quick, strict=True):
        slow = outcome("bif", edit)
        if isinstance(slow, NetworkDefinition):
            assert result == slow, edit
            assert result.properties == slow.properties
        else:  # with several things wrong, which is met first may differ
            assert isinstance(result, NetworkFileError), edit


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_many_damaged_files(name, replicates):
    format, data = SUBJECTS[name]
    rng = np.random.default_rng([1, *name.encode()])
    for _ in range(replicates(2_000, 100_000)):
        outcome(format, damaged(data, rng))


N = 30_000
HOSTILE = {
    "open brackets": ("bif", b"(" * N),
    "braces in a body": ("bif", HEAD + b"probability (a) " + b"{" * N),
    "open quotes": ("bif", b'"\\"' * N),
    "open comments": ("bif", b"/*" * N),
    "states without end": ("bif", b"variable x { type discrete [2] { " + b"a, " * N),
    "the same state": ("bif", b"variable x { type discrete [%d] { " % N + b"a, " * N + b"}; }"),
    "a huge number of states": ("bif", b"variable x { type discrete [99999999999999999999] { a }; }"),
    "parents without end": ("bif", HEAD + b"probability (a | " + b"a " * N + b") {}"),
    "properties without end": ("bif", b"network x { " + b"property " * N),
    "2³¹ rows under one default": (
        "bif",
        HEAD
        + b"".join(b"variable v%d { type discrete [2] { t, f }; }\n" % i for i in range(31))
        + b"probability (a | " + b" ".join(b"v%d" % i for i in range(31)) + b") { default 0.5 0.5; }",
    ),
    "brackets in data": ("net", b'node a { states = ("t" "f"); } potential (a) { data = ' + b"(" * N + b"1 0; }"),
    "too many data": ("net", b'node a { states = ("t" "f"); } potential (a) { data = ' + b"(1 0)" * N + b"; }"),
    "open values": ("net", b"net { a = " + b"(" * N),
    "huge states": ("uai", b"BAYES %d " % N + b"%d " % N * N),
    "a huge count": ("uai", b"BAYES 1 1000000000000 1"),
    "a huge table": ("uai", b"BAYES 1 2 1 1 0 99999999999999999999 1"),
    "a long number": ("uai", b"BAYES 1 2 1 1 0 2 " + b"9" * N),
    "deep elements": ("xmlbif", b"<BIF>" * N),
    "open elements": ("xmlbif", b"<BIF><NETWORK>" + b"<NAME>" * N),
    "a billion laughs": (
        "xmlbif",
        b'<!DOCTYPE x [<!ENTITY a "ha">'
        + b"".join(b'<!ENTITY a%d "&a;&a;">' % i for i in range(99))
        + b"]><BIF>&a9;</BIF>",
    ),
    "a file of the system": ("xmlbif", b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><BIF>&a;</BIF>'),
    "a foreign grammar": ("xmlbif", b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><BIF>&a;</BIF>'),
    "nothing": ("bif", b""),
    "only zeros": ("bif", b"\x00" * N),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_in_proportion_to_their_size(name):
    format, data = HOSTILE[name]
    start = time.process_time()
    error = outcome(format, data)
    seconds = time.process_time() - start
    assert isinstance(error, NetworkFileError)
    assert seconds < 0.2 + 5e-6 * len(data)  # measured: up to 1e-6 s a byte
    tracemalloc.start()
    outcome(format, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6 + 150 * len(data)  # a token of two bytes is a Python object of some hundred


@pytest.mark.parametrize(
    ("format", "text", "line", "column", "said"),
    [
        ("bif", HEAD.decode() + "probability (a) {\n table 0.5, x; }", 4, 13, "'x' stands where a number"),
        ("bif", HEAD.decode() + "probability (a) {\n table 0.5 0.4 0.1; }", 4, 8, "3 numbers stand where 'a' needs 2"),
        ("bif", HEAD.decode() + "probability (a) {\n table 0.5 0.4; }", 3, 14, "must be rows that sum to 1, got 0.9"),
        ("bif", HEAD.decode() + "probability (a) {\n table 1.5 -0.5; }", 3, 14, "must be finite and ≥ 0, got -0.5"),
        ("bif", HEAD.decode() + "probability (a) { table 1 0; }\nprobability (a) { table 1 0; }", 4, 14, "given twice"),
        ("bif", HEAD.decode() + "probability (b) { table 1 0; }", 3, 14, "there is no variable 'b'"),
        ("bif", HEAD.decode() + "variable a { type discrete [1] { x }; }", 3, 10, "declared twice"),
        ("bif", HEAD.decode() + "variable é { type discrete [2] { x }; }", 3, 10, "announces 2 states and lists 1"),
        ("bif", HEAD.decode() + "/* é */ probability (a) { table nan 1; }", 3, 33, "'nan' stands where a number"),
        ("bif", HEAD.decode(), 2, 10, "variable 'a' has no table"),
        ("net", 'node a { states = ("t" "f"); }\npotential (a) { data = (0.5\n x); }', 3, 2, "'x' in the table of 'a'"),
        ("net", 'node a { states = ("t" "f"); }\npotential (a) { model_data = 3; }', 2, 12, "no data"),
        ("net", "utility u { }", 1, 1, "no other is read"),
        ("uai", "MARKOV\n1 2", 1, 1, "of type 'MARKOV'"),
        ("uai", "BAYES\n2\n2 2\n2\n1 0\n1 2", 6, 3, "a variable is 2, not a whole number from 0 to 1"),
        ("xmlbif", "<BIF>\n <NETWORK><X/></NETWORK></BIF>", 2, 11, "<X> has no place inside <NETWORK>"),
        ("xmlbif", "<BIF>\n <NETWORK></BIF>", 2, 13, "mismatched tag"),
        ("xmlbif", '<BIF><NETWORK>\n<VARIABLE TYPE="decision"/>', 2, 1, "type 'decision' is not read"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_where(format, text, line, column, said):
    with pytest.raises(NetworkFileError) as caught:
        read(format, text.encode())
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert said in str(error)
    assert str(error).startswith(f"f, line {line}, column {column}: ")
    assert isinstance(error, FileFormatError)


def test_a_bad_row_names_node_and_parents_and_normalise_accepts_it(tmp_path):
    path = tmp_path / "asia.bif"
    text = (DATA / "asia.bif").read_text()
    row = next(line for line in text.splitlines() if line.startswith("  (no, yes) 0.7"))
    path.write_text(text.replace(row, "  (no, yes) 0.25, 0.25;"))
    with pytest.raises(
        NetworkFileError, match=r"'dysp'\] must be rows that sum to 1, given bronc=\w+, either=\w+, got 0.5"
    ):
        read_network(path)
    assert 0.5 in read_network(path, normalise=True).tables["dysp"]


def test_a_cycle_is_its_path():
    variables = b"".join(b"variable %c { type discrete [1] { x }; }\n" % name for name in (b"a", b"b", b"c"))
    tables = b"".join(
        b"probability ( %c | %c ) { (x) 1; }\n" % pair for pair in ((b"b", b"a"), (b"c", b"b"), (b"a", b"c"))
    )
    with pytest.raises(NetworkFileError, match=r"free of cycles, got '(a → b → c → a|b → c → a → b|c → a → b → c)'"):
        read("bif", variables + tables)


def test_encodings(tmp_path):
    definition = NetworkDefinition({"é": ("ü", "日本")}, {}, {"é": [0.5, 0.5]})
    path = tmp_path / "a.bif"
    write_network(definition, path)
    text = path.read_text(encoding="utf-8")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_network(path) == definition
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(NetworkFileError, match=r"line 1, column 1: the byte 0xff is not utf-8.*encoding="):
        read_network(path)
    assert read_network(path, encoding="utf-16") == definition
    with pytest.raises(NetworkFileError, match="cannot be read as 'no-such'"):
        read_network(path, encoding="no-such")
    xml = tmp_path / "a.xml"
    xml.write_bytes(
        '<?xml version="1.0" encoding="iso-8859-1"?>'
        "<BIF><NETWORK><VARIABLE><NAME>é</NAME><OUTCOME>ü</OUTCOME></VARIABLE>"
        "<DEFINITION><FOR>é</FOR><TABLE>1</TABLE></DEFINITION></NETWORK></BIF>".encode("latin-1")
    )
    assert read_network(xml).states["é"] == ("ü",)


def test_damaged_gzip_and_missing_files(tmp_path):
    path = tmp_path / "a.bif.gz"
    packed = gzip.compress((DATA / "alarm.bif").read_bytes())
    for data in (packed[:100], packed[:1000] + b"x" * 50 + packed[1050:]):
        path.write_bytes(data)
        with pytest.raises(NetworkFileError, match="gzip file is damaged"):
            read_network(path)
    with pytest.raises(MissingFileError):
        read_network(tmp_path / "none.bif")
    with pytest.raises(ParameterError, match=r"a name that ends in \.bif, .*Or state format="):
        read_network(tmp_path / "a.txt")
    with pytest.raises(ParameterError, match="one of bif, xmlbif, uai, net"):
        read_network(tmp_path / "a.txt", format="dne")
