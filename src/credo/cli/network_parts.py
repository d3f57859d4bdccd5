"""What the commands on networks share: files in and out, findings as they are typed, beliefs as tables."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from credo.errors import DataError, ParameterError

__all__ = [
    "arrows_of", "at_line", "belief_tables", "checked_network_output", "cuts_of", "header", "in_words", "listed",
    "open_any", "open_network", "parsed", "refuse_decisions", "state_of", "undirected", "unset", "write_network_file",
]  # fmt: skip

ENDINGS = (".bif", ".xmlbif", ".bifxml", ".xml", ".uai", ".net", ".credo")
# Characters of the longest bar beside a probability.
_BAR = 24

States = Mapping[str, tuple[Any, ...]]


def open_network(path: str) -> Any:
    """The `BayesianNetwork` in a file of any format, a Credo file too.

    Raises
    ------
    FileFormatError : the file holds something else.
    """
    from credo.errors import FileFormatError
    from credo.models.network.network import BayesianNetwork

    found = open_any(path)
    if isinstance(found, BayesianNetwork):
        return found
    raise FileFormatError(
        f"{path} holds a {type(found).__name__}, where a network of finitely many states without decisions is needed.",
        value=path,
    )


def open_any(path: str) -> Any:
    """The network in a file: of causes, of decisions, or of real numbers.

    Raises
    ------
    FileFormatError : the file holds something else.
    """
    from credo.decisions.networks import DecisionNetwork
    from credo.errors import FileFormatError
    from credo.models.network.gaussian import ConditionalGaussianNetwork, LinearGaussianNetwork
    from credo.models.network.network import BayesianNetwork
    from credo.saving import is_credo_file, load

    kinds = (DecisionNetwork, LinearGaussianNetwork, ConditionalGaussianNetwork)
    if path.lower().removesuffix(".gz").endswith(".json"):
        return _read_document(path, kinds)
    if not (path.lower().endswith(".credo") or is_credo_file(path)):
        return _read_text(path)
    found = load(path)
    if isinstance(found, (BayesianNetwork, *kinds)):
        return found
    raise FileFormatError(
        f"{path} holds a {type(found).__name__}, not a network.", value=path, remedy=f"Try: credo show {path}"
    )


def _read_document(path: str, kinds: tuple[Any, ...]) -> Any:
    from credo.errors import FileFormatError
    from credo.models.network.files.documents import document_kind

    kind = document_kind(path)
    for each in kinds:
        if each.kind == kind:
            return each.read(path)
    raise FileFormatError(
        f'{path} does not say which network it holds: its "kind" is {kind!r}, not '
        f"{', '.join(repr(each.kind) for each in kinds)}.",
        value=kind, remedy="Networks of causes are BIF, XMLBIF, UAI or Hugin NET files.",
    )  # fmt: skip


def _read_text(path: str) -> Any:
    """By the ending; what is not there is said to be missing, whatever its ending."""
    from credo.errors import FileFormatError, MissingFileError
    from credo.models.network.network import BayesianNetwork

    if path.lower().removesuffix(".gz").endswith(ENDINGS):
        try:
            return BayesianNetwork.read(path)
        except FileFormatError as error:
            if "normalise=True" not in str(error):
                raise
            python = f"in Python cr.BayesianNetwork.read({path!r}, normalise=True).write(…)"
            raise FileFormatError(str(error).replace("normalise=True", python), value=error.value) from error
    if not os.path.exists(path):
        raise MissingFileError(f"There is no file {path!r}.", value=path)
    raise FileFormatError(
        f"{path} does not say in which format it is: networks end in {', '.join((*ENDINGS, '.json'))}.", value=path,
        remedy="Rename it.",
    )  # fmt: skip


def refuse_decisions(network: Any, file: str) -> None:
    """Decision networks have a command of their own."""
    from credo.errors import FileFormatError

    if hasattr(network, "decisions"):
        raise FileFormatError(f"{file} is a decision network.", value=file, remedy=f"Try: credo network decide {file}")


def at_line(error: DataError, table: Any) -> DataError:
    """The same of a file: the row's number is said to be counted from 0, and the line it stands in."""
    if not error.rows:
        return error
    row = error.rows[0]
    place = f"row {row} (counted from 0; {table.reader.position(row)})"
    return DataError(
        str(error).replace(f"row {row}", place, 1), rows=error.rows, columns=error.columns, value=error.value
    )


def checked_network_output(path: Path, data: str, endings: tuple[str, ...] = ENDINGS) -> Path:
    """A path that a network of a table's columns may be written to, or an error before the work."""
    from credo.cli.rows import check_writable

    plain = path.name.lower().removesuffix(".gz")
    named = tuple(ending for ending in endings if ending != ".uai")
    if plain.endswith(".uai") and ".uai" in endings:
        raise ParameterError(
            "", "--output", f"a name that ends in {', '.join(named)}: UAI files cannot hold the names of columns",
            str(path), f"Try: --output {path.name.removesuffix('.gz').removesuffix('.uai')}.bif",
        )  # fmt: skip
    if not plain.endswith(endings):
        raise ParameterError("", "--output", f"a name that ends in {', '.join(named)}", str(path))
    check_writable(path, (data,))
    return path


def write_network_file(network: Any, path: Path, about: dict[str, Any]) -> None:
    """In the format that the name says."""
    from credo.saving import save

    if path.suffix.lower() == ".credo":
        save(network, path, about=about)
        return
    network.write(path)


def parsed(states: States, findings: Iterable[str] | None, option: str) -> dict[str, Any]:
    """NODE=STATE as typed → {node: state}.

    Names of nodes and states may hold =: of all ways to cut, the one is taken whose both parts are known.

    Raises
    ------
    ParameterError : no =, an unknown node or state (with those like it), two states of one node.

    >>> parsed({"x": ("a", "b"), "x=a": (0, 1)}, ["x=a=1"], "--evidence")
    {'x=a': 1}
    """
    found: dict[str, Any] = {}
    for text in findings or ():
        node, state = _cut(states, text, option)
        if node in found and found[node] != state:
            raise ParameterError("", option, "given once a node", text, f"It also says {node}={found[node]}.")
        found[node] = state
    return found


def unset(seen: Mapping[str, Any], set_: Mapping[str, Any]) -> None:
    """An error where what was seen is not what was set."""
    for node, state in seen.items():
        if node in set_ and set_[node] != state:
            raise ParameterError("", "--evidence", f"{node}={set_[node]}, as --do set it", f"{node}={state}")


def _cut(states: States, text: str, option: str) -> tuple[str, Any]:
    from credo.models.network.findings import known_node, known_state

    cuts = cuts_of(text, option, "NODE=STATE")
    known = [(node, state) for node, state in cuts if node in states]
    for node, state in known:
        place = state_of(states[node], state)
        if place is not None:
            return node, states[node][place]
    node, state = known[0] if known else cuts[0]
    try:
        return node, known_state(states[known_node(states, node)], node, state)
    except ParameterError as error:
        raise ParameterError("", option, f"about {error.constraint}", error.value, error.remedy) from error


def cuts_of(text: str, option: str, wanted: str) -> list[tuple[str, str]]:
    """All ways to cut at an =; an error without one."""
    cuts = [(text[:i], text[i + 1 :]) for i, letter in enumerate(text) if letter == "="]
    if not cuts:
        raise ParameterError("", option, wanted, text)
    return cuts


def state_of(own: tuple[Any, ...], text: str) -> int | None:
    """The number of the state that is so written: as its text, as files write it (true), or as a number."""
    from credo.cli.text import label_text

    for write in (str, label_text):
        texts = [write(state) for state in own]
        if text in texts:
            return texts.index(text)
    try:
        value = float(text)
    except ValueError:
        return None
    numbers = [i for i, state in enumerate(own) if isinstance(state, (int, float)) and state == value]
    return numbers[0] if numbers else None


def listed(findings: Mapping[str, Any], actions: Mapping[str, Any] | None = None) -> str:
    """What a probability is conditioned on: " | smoke=yes, do(lung=no)", or nothing."""
    from credo.cli.text import label_text

    parts = [f"{node}={label_text(state)}" for node, state in findings.items()]
    parts += [f"do({node}={label_text(state)})" for node, state in (actions or {}).items()]
    return f" | {', '.join(parts)}" if parts else ""


def belief_tables(beliefs: Mapping[str, Mapping[Any, float]], errors: Mapping[str, Any] | None = None) -> list[Any]:
    """A table for each node: its states, their probabilities (± standard errors where estimated) and a bar."""
    from credo.cli.text import grid, label_text

    tables = []
    for node, law in beliefs.items():
        rows = []
        for place, (state, p) in enumerate(law.items()):
            told = _digits(p) if errors is None else f"{p:.4f} ± {errors[node][place]:.4f}"
            rows.append([label_text(state), told, "█" * round(_BAR * p) + ("▏" if 0.0 < p * _BAR < 0.5 else "")])
        table = grid([header(node), "probability", ""], rows)
        table.columns[2].justify = "left"
        tables.append(table)
    return tables


def header(name: str) -> Any:
    """A name at the head of a column, where [red] and :bell: are part of the name."""
    from rich.text import Text

    return Text(" ".join(name.split()))


def in_words(table: Any, *columns: int) -> Any:
    """The table, its columns of words as such: else rich would rather leave out the first column than fold these."""
    for column in columns:
        table.columns[column].justify, table.columns[column].no_wrap = "left", False
    return table


def _digits(p: float) -> str:
    """Six decimals, or four digits of what is smaller: a law may well say that something is rare."""
    return f"{p:.6f}" if p >= 1e-3 or p == 0.0 else f"{p:.3e}"


def arrows_of(path: str) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[Any, ...]]]:
    """({node: parents}, {node: states}) from a file: a network's, or lines `parent,child` (then no states).

    Raises
    ------
    ParameterError : a line that is no pair.
    """
    if path.lower().removesuffix(".gz").endswith(ENDINGS):
        network = open_network(path)
        return dict(network.definition_.parents), dict(network.states)
    from credo.errors import MissingFileError

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise MissingFileError(f"There is no file {path!r}.", value=path) from error
    parents: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and [cell.lower() for cell in cells] in HEADERS):
            continue
        if len(cells) != 2 or not all(cells):
            raise ParameterError("", "--structure", "a file with lines PARENT,CHILD", f"line {number}: {','.join(row)}")
        parents[cells[1]] = (*parents.get(cells[1], ()), cells[0])
    return parents, {}


HEADERS = (["parent", "child"], ["from", "to"], ["source", "target"])


def undirected(network: Any) -> set[tuple[str, str]]:
    """Arrows that structures of the same independences have the other way round."""
    import numpy as np

    from credo.models.network.learning import essential_graph

    place = {node: i for i, node in enumerate(network.nodes)}
    edges = np.zeros((len(place), len(place)), dtype=bool)
    for a, b in network.edges:
        edges[place[a], place[b]] = True
    either = essential_graph(edges)
    return {(a, b) for a, b in network.edges if either[place[b], place[a]]}
