"""BIF 0.15, the interchange format of the Bayesian network repositories: reading and writing.

    network NAME { property TEXT; }
    variable NAME { type discrete [ 2 ] { yes, no }; property TEXT; }
    probability ( CHILD | PARENT, PARENT ) { (yes, no) 0.1, 0.9; default 0.5, 0.5; table 0.1, 0.9, …; }

The numbers of all tables that are written row by row are parsed in one go; whatever is out of the ordinary goes through
`entries.slow_table`, which knows the grammar and says what is wrong and where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from credo.models.network.definition import NetworkDefinition
from credo.models.network.files.assemble import Draft, DraftNode
from credo.models.network.files.bif_entries import RowTables, read_property
from credo.models.network.files.source import Source, without_comments
from credo.models.network.files.state_types import state_texts, types_property
from credo.models.network.files.tokens import Tokens, quoted, token_pattern

__all__ = ["read_bif", "bif_chunks"]

# Commas are blanks, as the specification of the format has it.
TOKEN = token_pattern(b"{}()[]|;", b",")
# A comment begins a word: the slashes of http://… and of a state 1//2 are text.
_COMMENT = re.compile(
    rb"\"(?:[^\"\\]|\\.)*+(?:\"|\Z|\\\Z)|/(?<![^\s{}()\[\]|,;]/)(?:/[^\n]*+|\*(?:.*?\*/|.*))", re.DOTALL
)
_BLOCK_END = re.compile(rb"[^\"}]*+(?:\"(?:[^\"\\]|\\.)*+\"[^\"}]*+)*+\}", re.DOTALL)
# Nearly every variable and every header is one of these.
_PLAIN_VARIABLE = re.compile(
    rb"([^\s{}()\[\]|,;\"]++)\s*+\{\s*+type\s++discrete\s*+\[\s*+(\d{1,18}+)\s*+\]\s*+"
    rb"\{([^{}()\[\]|;\"]*+)\}\s*+;\s*+\}"
)
_PLAIN_HEADER = re.compile(rb"\(([^(){}\[\];\"]*+)\)\s*+\{")
_NAME = re.compile(rb"[^\s|,]++")
_BARE = re.compile(r"(?!//|/\*)[^\s{}()\[\]|,;\"\x00-\x1f\x7f]+")


def read_bif(source: Source, normalise: bool) -> NetworkDefinition:
    """A network from BIF text; see the page "Network files" for what is accepted."""
    source = without_comments(source, _COMMENT, b"/")
    draft = Draft(source, normalise)
    tokens = Tokens(source, TOKEN)
    tables = RowTables(draft, tokens)
    # Variables may be declared after the tables that name them.
    bodies: list[tuple[list[tuple[str, int]], int, int]] = []
    while tokens.token.kind != "end":
        if tokens.skip(b"network"):
            draft.name = tokens.name("the network's name").text
            _network(tokens, draft)
        elif tokens.skip(b"variable"):
            _variable(tokens, draft, tables)
        elif tokens.skip(b"probability"):
            bodies.append(_probability(tokens))
        else:
            raise tokens.unexpected("'network', 'variable' or 'probability'")
    for names, start, end in bodies:
        tables.add(draft.add_parents(names), start, end)
    tables.finish()
    draft.name = "" if draft.name == "unknown" else draft.name
    return draft.finish()


def _network(tokens: Tokens, draft: Draft) -> None:
    tokens.expect(b"{", "after the network's name")
    while not tokens.skip(b"}"):
        draft.properties.append(read_property(tokens))


def _variable(tokens: Tokens, draft: Draft, tables: RowTables) -> None:
    plain = _PLAIN_VARIABLE.match(draft.source.data, tokens.token.offset)
    if plain is not None:
        name, words = plain[1].decode(), tuple(plain[3].replace(b",", b" ").split())
        states = tuple([word.decode() for word in words])
        draft.add_node(name, DraftNode(states, plain.start()), int(plain[2]))
        tables.written[name] = words
        tokens.jump(plain.end())
    else:
        _any_variable(tokens, draft, tables)


def _any_variable(tokens: Tokens, draft: Draft, tables: RowTables) -> None:
    name = tokens.name("the variable's name")
    tokens.expect(b"{", "after the variable's name")
    states, stated = None, None
    properties: list[str] = []
    while not tokens.skip(b"}"):
        if not tokens.at(b"type"):
            properties.append(read_property(tokens))
            continue
        if states is not None:
            raise tokens.unexpected("one type only")
        tokens.advance()
        tokens.expect(b"discrete", "after 'type' (other variables are not read)")
        tokens.expect(b"[", "after 'discrete'")
        stated = _count(tokens)
        tokens.expect(b"]", "after the number of states")
        tokens.expect(b"{", "before the states")
        states = []
        while not tokens.skip(b"}"):
            states.append(tokens.name("a state or '}'"))
        tokens.expect(b";", "after the states")
    if states is None:
        raise tokens.source.error(name.offset, f"variable {name.text!r} has no type", value=name.text)
    node = DraftNode(tuple(state.text for state in states), name.offset, properties)
    draft.add_node(name.text, node, stated)
    tables.written[name.text] = tuple(state.raw for state in states)


def _count(tokens: Tokens) -> int:
    raw = tokens.token.raw
    if not raw.isdigit() or len(raw) > 18:
        raise tokens.unexpected("the number of states")
    tokens.advance()
    return int(raw)


def _probability(tokens: Tokens) -> tuple[list[tuple[str, int]], int, int]:
    """(child and parents, where the body begins, where its brace closes)."""
    plain = _PLAIN_HEADER.match(tokens.source.data, tokens.token.offset)
    if plain is not None:
        names = [(word[0].decode(), word.start()) for word in _NAME.finditer(tokens.source.data, *plain.span(1))]
        if names:
            return names, plain.end(), _block_end(tokens, plain.end())
    tokens.expect(b"(", "after 'probability'")
    names = []
    while not tokens.skip(b")"):
        if not tokens.skip(b"|"):
            name = tokens.name("a variable's name or ')'")
            names.append((name.text, name.offset))
    if not names:
        raise tokens.unexpected("a variable's name before ')'")
    if not tokens.at(b"{"):
        raise tokens.unexpected("'{' after the names")
    return names, tokens.end, _block_end(tokens, tokens.end)


def _block_end(tokens: Tokens, start: int) -> int:
    """Where the brace closes that opened before `start`; the cursor moves behind it."""
    data = tokens.source.data
    end = data.find(b"}", start)
    if end >= 0 and data.find(b'"', start, end) < 0:
        tokens.jump(end + 1)
        return end
    match = _BLOCK_END.match(data, start)
    if match is None:
        raise tokens.source.error(start - 1, "the block does not end", remedy="End it with '}'.")
    tokens.jump(match.end())
    return match.end() - 1


def bif_chunks(definition: NetworkDefinition, lossy: bool) -> Iterator[str]:
    """The text of a BIF file, part by part; nothing is lost."""
    yield f"network {_word(definition.name or 'unknown')} {{\n"
    yield from _properties(definition.properties.get("", ()))
    yield "}\n"
    words = {node: [_word(text) for text in state_texts(node, states)] for node, states in definition.states.items()}
    for node, states in definition.states.items():
        yield f"variable {_word(node)} {{\n  type discrete [ {len(states)} ] {{ {', '.join(words[node])} }};\n"
        yield from _properties((*definition.properties.get(node, ()), types_property(states)))
        yield "}\n"
    for node, parents in definition.parents.items():
        names = ", ".join(map(_word, parents))
        yield f"probability ( {_word(node)}{f' | {names}' if names else ''} ) {{\n"
        table = definition.tables[node]
        rows = table.reshape(-1, table.shape[-1]).tolist()
        for labels, row in zip(product(*(words[parent] for parent in parents)), rows):
            label = f"({', '.join(labels)})" if parents else "table"
            yield f"  {label} {', '.join(map(repr, row))};\n"
        yield "}\n"


def _word(text: str) -> str:
    return text if _BARE.fullmatch(text) else quoted(text)


def _properties(texts: tuple[str | None, ...]) -> Iterator[str]:
    for text in texts:
        if text is not None:
            plain = text == text.strip() and not re.search(r"[;\"\\{}\x00-\x1f\x7f]|//|/\*", text) and text
            yield f"  property {text if plain else quoted(text)};\n"
