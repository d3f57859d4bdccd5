"""Networks of decisions and of real numbers as JSON files: `DocumentFile` gives a class `read` and `write`.

Such a file is one object, with `kind` and what the class's constructor takes:

    {"kind": "decision network", "edges": [["rain", "mood"], …], "tables": {"rain": {"no": 0.8, "yes": 0.2}}, …}

Keys of JSON are text: states that are numbers or truth values are listed under `states`, and keys are matched to these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from credo.errors import CredoError, FileFormatError, ParameterError, SaveError
from credo.models.network.files.source import NetworkFileError, Source, read_source
from credo.saving.atomic import atomic_write

__all__ = ["DocumentFile", "document_kind", "keyed", "retyped", "state_text"]


# Characters of a line.
_LINE = 100


class DocumentFile:
    """A network that a JSON file describes; subclasses say how in `_document` and `_from_document`."""

    #: what the file calls it, and the keys that it may have: True where they must be there
    kind: ClassVar[str]
    keys: ClassVar[Mapping[str, bool]]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From a JSON file as `write` writes it, or written by hand.

        Raises
        ------
        NetworkFileError : a `FileFormatError`; no such network, with line and column where it is no JSON
        MissingFileError, StorageError : the system refuses
        """
        source = read_source(_checked_path(cls.__name__, path), None)
        found = _parsed(source)
        _check_keys(source.path, found, cls.kind, cls.keys)
        try:
            return cls._from_document({key: value for key, value in found.items() if key != "kind"})
        except FileFormatError:
            raise
        except (CredoError, TypeError, AttributeError) as error:
            raise NetworkFileError(source.path, None, str(error).rstrip(".")) from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """To a JSON file, which appears whole or not at all; numbers are read back bit for bit.

        Raises
        ------
        SaveError : a state that is neither text, number nor truth value; a name with a lone surrogate
        StorageError : the system refuses
        """
        _checked_path(type(self).__name__, path)
        try:
            data = (_laid_out({"kind": self.kind, **self._document()}) + "\n").encode("utf-8")
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise SaveError(f"A name has the lone surrogate {bad!r}, which no file can hold.", value=bad) from error
        with atomic_write(path) as file:
            file.write(data)

    def _document(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        raise NotImplementedError


def _checked_path(owner: str, path: Any) -> Any:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path) or "\0" in os.fsdecode(path):
        raise ParameterError(owner, "path", "the path of a file", path)
    return path


def document_kind(path: str | os.PathLike[str]) -> str:
    """What kind of network a JSON file says that it holds; "" where it says nothing.

    Raises `NetworkFileError` where it is no JSON object.
    """
    kind = _parsed(read_source(path, None)).get("kind", "")
    return kind if isinstance(kind, str) else ""


def _laid_out(value: Any, depth: int = 0) -> str:
    """JSON in which what fits a line is on one."""
    short = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if depth and (len(short) < _LINE or not isinstance(value, (dict, list))):
        return short
    margin = "  " * (depth + 1)
    if isinstance(value, dict):
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(below, depth + 1)}" for key, below in value.items()
        ]
        opened, closed = "{", "}"
    else:
        items, opened, closed = [_laid_out(below, depth + 1) for below in value], "[", "]"
    return opened + "\n" + ",\n".join(margin + item for item in items) + "\n" + "  " * depth + closed


def state_text(state: Any) -> str:
    """A state as a key.

    >>> state_text(True), state_text(2), state_text("no")
    ('true', '2', 'no')
    """
    if isinstance(state, str):
        return state
    if isinstance(state, (bool, int, float)):
        return json.dumps(state)
    raise SaveError(
        f"A state is {state!r}; a JSON file holds text, numbers and truth values.", value=state, remedy="Rename it."
    )


def keyed(table: Any, axes: Sequence[tuple[Any, ...]]) -> Any:
    """An array (\\*axes) as nested dicts by states; plain lists where two states are written alike.

    >>> keyed([[1.0, 2.0], [3.0, 4.0]], [("a", "b"), (False, True)])
    {'a': {'false': 1.0, 'true': 2.0}, 'b': {'false': 3.0, 'true': 4.0}}
    """
    if any(len({state_text(state) for state in own}) < len(own) for own in axes):
        return table.tolist()
    if not axes:
        return float(table)
    return {state_text(state): keyed(below, axes[1:]) for state, below in zip(axes[0], table, strict=True)}


def retyped(table: Any, axes: Sequence[tuple[Any, ...] | None]) -> Any:
    """Nested dicts with keys as states of their own kind; what is no key of a stated state stays as it is."""
    if not axes or not isinstance(table, dict):
        return table
    own = {state_text(state): state for state in axes[0] or ()}
    return {own.get(key, key): retyped(below, axes[1:]) for key, below in table.items()}


def _parsed(source: Source) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise NetworkFileError(source.path, None, f"the key {twice!r} comes twice in one object", value=twice)
        return found

    def refused(constant: str) -> Any:
        raise NetworkFileError(source.path, None, f"{constant} is no number of JSON", value=constant)

    text = source.data.decode("utf-8")
    try:
        found = json.loads(text, object_pairs_hook=unique, parse_constant=refused)
    except json.JSONDecodeError as error:
        raise NetworkFileError(source.path, (error.lineno, error.colno), f"this is no JSON: {error.msg}") from error
    except NetworkFileError:
        raise
    except (RecursionError, ValueError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise NetworkFileError(source.path, None, said) from error
    if not isinstance(found, dict):
        raise NetworkFileError(source.path, (1, 1), "a network is a JSON object, {…}", value=type(found).__name__)
    return found


def _check_keys(path: str, found: Mapping[str, Any], kind: str, keys: Mapping[str, bool]) -> None:
    from credo.models.network.learning.options import near

    if found.get("kind") != kind:
        raise NetworkFileError(
            path, None, f"its kind is {found.get('kind')!r}, where {kind!r} was wanted", value=found.get("kind"),
            remedy=f'Its first line should hold "kind": "{kind}".',
        )  # fmt: skip
    for key in found:
        if key != "kind" and key not in keys:
            known = ", ".join(keys)
            raise NetworkFileError(path, None, f"{key!r} is none of {known}", value=key, remedy=near(key, keys))
    if missing := [key for key, must in keys.items() if must and key not in found]:
        raise NetworkFileError(path, None, f"it has no {missing[0]!r}", value=list(found))
    for key, value in found.items():
        wanted = list if key in ("edges", "nodes") else dict if key not in ("kind", "no_forgetting") else None
        if wanted is not None and not isinstance(value, wanted):
            what = "a list […]" if wanted is list else "an object {…}"
            raise NetworkFileError(path, None, f"{key!r} must be {what}", value=value)
