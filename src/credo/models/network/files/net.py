"""Hugin NET: reading and writing.

    net { name = "…"; }
    node ID { states = ("yes" "no"); label = "…"; }
    potential ( CHILD | PARENT PARENT ) { data = ((0.1 0.9)(0.2 0.8)); }

The child's states change fastest, the last parent's next. A node's ID is a word of letters, digits and ``_``; a name
that is none goes into the attribute ``credo_name`` of a node with a similar ID.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from credo.models.network.definition import NetworkDefinition
from credo.models.network.files.assemble import Draft, DraftNode
from credo.models.network.files.source import Source, without_comments
from credo.models.network.files.state_types import state_texts, types_property
from credo.models.network.files.tokens import Token, Tokens, quoted, token_pattern

__all__ = ["read_net", "net_chunks"]

_TOKEN = token_pattern(b"{}()|;=,")
_COMMENT = re.compile(rb"\"(?:[^\"\\]|\\.)*+(?:\"|\Z|\\\Z)|%[^\n]*+", re.DOTALL)
_VALUE_END = re.compile(rb"[^\";]*+(?:\"(?:[^\"\\]|\\.)*+\"[^\";]*+)*+;", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ATTRIBUTE = re.compile(
    r"(?!states\b|name\b|credo_)[A-Za-z_]\w* = "
    r"(?:[\w.+-]+|\"(?:[^\"\\\n]|\\.)*\"|\((?:[\w.+\-, ]|\"(?:[^\"\\\n]|\\.)*\")*\))",
    re.ASCII,
)
_OTHER_NODES = (b"continuous", b"utility", b"decision", b"function", b"class")


def read_net(source: Source, normalise: bool) -> NetworkDefinition:
    """A network from Hugin NET text: ordinary nodes and tables of numbers."""
    source = without_comments(source, _COMMENT, b"%")
    draft = Draft(source, normalise)
    tokens = Tokens(source, _TOKEN)
    names: dict[str, str] = {}
    tables: list[tuple[list[tuple[str, int]], bytes, int]] = []
    while tokens.token.kind != "end":
        tokens.skip(b"discrete")
        if tokens.skip(b"net"):
            _net(tokens, draft)
        elif tokens.skip(b"node"):
            _node(tokens, draft, names)
        elif tokens.skip(b"potential"):
            tables.append(_potential(tokens))
        else:
            said = (
                "an ordinary node (no other is read)"
                if tokens.token.raw in _OTHER_NODES
                else "'net', 'node' or 'potential'"
            )
            raise tokens.unexpected(said)
    pending = []
    for family, text, offset in tables:
        name = draft.add_parents([(names.get(each, each), at) for each, at in family])
        pending.append((name, text, offset))
    draft.add_texts(pending)
    return draft.finish()


def _attributes(tokens: Tokens) -> Iterator[tuple[Token, bytes, int]]:
    """(key, value as written, where it begins) of each ``key = value;`` up to the closing brace."""
    tokens.expect(b"{", "before the attributes")
    while not tokens.skip(b"}"):
        key = tokens.token
        if key.kind != "word":
            raise tokens.unexpected("an attribute or '}'")
        tokens.advance()
        if not tokens.at(b"="):
            raise tokens.unexpected("'=' after the attribute's name")
        start = tokens.end
        match = _VALUE_END.match(tokens.source.data, start)
        if match is None:
            raise tokens.source.error(key.offset, f"the attribute {key.text!r} does not end", remedy="End it with ';'.")
        yield key, match[0][:-1], start
        tokens.jump(match.end())


def _net(tokens: Tokens, draft: Draft) -> None:
    for key, value, start in _attributes(tokens):
        if key.raw == b"name":
            draft.name = _text(tokens, value, start)
        else:
            draft.properties.append(_property(tokens, key, value, start))


def _node(tokens: Tokens, draft: Draft, names: dict[str, str]) -> None:
    identity = tokens.name("the node's name")
    name, states = identity.text, None
    properties: list[str] = []
    for key, value, start in _attributes(tokens):
        if key.raw == b"states":
            states = _states(tokens.source, start)
        elif key.raw == b"credo_name":
            name = _text(tokens, value, start)
        else:
            properties.append(_property(tokens, key, value, start))
    if states is None:
        raise tokens.source.error(identity.offset, f"node {name!r} has no states", value=name)
    if identity.text in names:
        raise tokens.source.error(identity.offset, f"node {identity.text!r} is declared twice", value=identity.text)
    names[identity.text] = name
    draft.add_node(name, DraftNode(states, identity.offset, properties))


def _states(source: Source, start: int) -> tuple[str, ...]:
    tokens = Tokens(source, _TOKEN, start)
    tokens.expect(b"(", "before the states")
    states = []
    while not tokens.skip(b")"):
        states.append(tokens.name("a state or ')'").text)
        tokens.skip(b",")
    if not tokens.at(b";"):
        raise tokens.unexpected("';' after the states")
    return tuple(states)


def _potential(tokens: Tokens) -> tuple[list[tuple[str, int]], bytes, int]:
    """(child and parents, numbers, where they begin)."""
    tokens.expect(b"(", "after 'potential'")
    child = tokens.name("a node's name")
    names = [(child.text, child.offset)]
    if tokens.skip(b"|"):
        while not tokens.at(b")"):
            parent = tokens.name("a node's name or ')'")
            names.append((parent.text, parent.offset))
            tokens.skip(b",")
    tokens.expect(b")", "after the nodes' names (one before '|')")
    data: tuple[bytes, int] | None = None
    for key, value, start in _attributes(tokens):
        if key.raw == b"data":
            if data is not None:
                raise tokens.source.error(key.offset, f"the data of {child.text!r} are given twice")
            if value.count(b"(") != value.count(b")"):
                raise tokens.source.error(start, f"the brackets in the data of {child.text!r} do not match")
            data = value, start
    if data is None:
        raise tokens.source.error(
            child.offset, f"the potential of {child.text!r} has no data", remedy="Tables by expression are not read."
        )
    return names, *data


def _text(tokens: Tokens, value: bytes, start: int) -> str:
    """A value that is one word or quotation."""
    inner = Tokens(tokens.source, _TOKEN, start)
    token = inner.token
    if token.kind not in ("word", "quoted"):
        raise inner.unexpected("a word or a quotation")
    inner.advance()
    if not inner.at(b";"):
        raise inner.unexpected("';' after the value")
    return token.text


def _property(tokens: Tokens, key: Token, value: bytes, start: int) -> str:
    """Attributes kept as text, ``key = value``; those that stand for other text as that text."""
    if key.raw.startswith(b"credo_property"):
        return _text(tokens, value, start)
    return f"{key.text} = {' '.join(value.decode('utf-8', 'replace').split(chr(10))).strip()}"


def net_chunks(definition: NetworkDefinition, lossy: bool) -> Iterator[str]:
    """The text of a NET file, part by part; nothing is lost."""
    yield "net\n{\n"
    if definition.name:
        yield f"  name = {quoted(definition.name)};\n"
    yield from _property_lines(definition.properties.get("", ()))
    yield "}\n"
    identity = _identities(definition.nodes)
    for node, states in definition.states.items():
        yield f"node {identity[node]}\n{{\n  states = ({' '.join(map(quoted, state_texts(node, states)))});\n"
        if identity[node] != node:
            yield f"  credo_name = {quoted(node)};\n"
        yield from _property_lines((*definition.properties.get(node, ()), types_property(states)))
        yield "}\n"
    for node, parents in definition.parents.items():
        given = f" | {' '.join(identity[parent] for parent in parents)}" if parents else ""
        yield f"potential ( {identity[node]}{given} )\n{{\n  data = "
        table = definition.tables[node]
        rows = table.reshape(-1, table.shape[-1]).tolist()
        yield from _bracketed(rows, [len(definition.states[parent]) for parent in parents])
        yield ";\n}\n"


def _bracketed(rows: list[list[float]], cards: list[int]) -> Iterator[str]:
    """Rows in as many brackets as there are axes: a bracket opens or closes wherever an axis begins or ends."""
    for i, row in enumerate(rows):
        opening, closing, step = 1, 1, 1
        for card in reversed(cards):
            step *= card
            opening += i % step == 0
            closing += (i + 1) % step == 0
        yield f"{'(' * opening}{' '.join(map(repr, row))}{')' * closing}"
        if i + 1 < len(rows):
            yield "\n    "


def _identities(nodes: tuple[str, ...]) -> dict[str, str]:
    """IDs unlike each other: the name where it is one, else its letters and digits."""
    identity = {node: node for node in nodes if _IDENTIFIER.fullmatch(node)}
    taken = set(identity.values())
    for i, node in enumerate(nodes):
        if node not in identity:
            plain = re.sub(r"[^A-Za-z0-9_]", "_", node)
            plain = plain if _IDENTIFIER.fullmatch(plain) else f"_{plain}"
            while plain in taken:
                plain = f"{plain}_{i}"
            taken.add(plain)
            identity[node] = plain
    return {node: identity[node] for node in nodes}


def _property_lines(texts: tuple[str | None, ...]) -> Iterator[str]:
    for i, text in enumerate(texts):
        if text is not None:
            yield f"  {text};\n" if _ATTRIBUTE.fullmatch(text) else f"  credo_property_{i} = {quoted(text)};\n"
