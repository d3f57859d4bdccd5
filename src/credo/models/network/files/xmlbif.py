"""XMLBIF 0.3: reading and writing.

    <BIF VERSION="0.3"><NETWORK><NAME>…</NAME>
    <VARIABLE TYPE="nature"><NAME>…</NAME><OUTCOME>…</OUTCOME>…<PROPERTY>…</PROPERTY></VARIABLE>
    <DEFINITION><FOR>child</FOR><GIVEN>parent</GIVEN>…<TABLE>…</TABLE></DEFINITION>
    </NETWORK></BIF>

In a table the child's states change fastest, the last parent's next. Text is taken without the blanks around it, except
in an element with ``xml:space="preserve"``, which is how names with such blanks are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat
from xml.sax.saxutils import escape

from credo.errors import SaveError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.files.assemble import Draft, DraftNode
from credo.models.network.files.source import NetworkFileError, Source
from credo.models.network.files.state_types import state_texts, types_property

__all__ = ["read_xmlbif", "xmlbif_chunks"]

# Which elements may stand in which; those that hold none hold text.
_INSIDE = {
    "": {"BIF"},
    "BIF": {"NETWORK"},
    "NETWORK": {"NAME", "PROPERTY", "VARIABLE", "DEFINITION", "PROBABILITY"},
    "VARIABLE": {"NAME", "OUTCOME", "VALUE", "PROPERTY"},
    "DEFINITION": {"FOR", "GIVEN", "TABLE", "PROPERTY"},
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_xmlbif(source: Source, normalise: bool) -> NetworkDefinition:
    """A network from XMLBIF text; entities of the file's own are refused, and nothing outside it is opened."""
    reader = _Reader(source, normalise)
    parser = reader.parser
    try:
        parser.Parse(source.data, True)
    except expat.ExpatError as error:
        offset = max(parser.ErrorByteIndex, 0)
        raise source.error(offset, f"this is not XML ({expat.ErrorString(error.code)})") from error
    return reader.finish()


class _Reader:
    """The handlers of the parser's events, and what they have gathered."""

    def __init__(self, source: Source, normalise: bool) -> None:
        self.source = source
        self.draft = Draft(source, normalise)
        self.path: list[str] = [""]
        self.text: list[str] = []
        self.keep_blanks = False
        self.parts: list[tuple[str, str, int]] = []
        self.block = 0
        self.definitions: list[tuple[list[tuple[str, int]], bytes, int]] = []
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.EntityDeclHandler = self.entity
        parser.SkippedEntityHandler = self.skipped

    def error(self, message: str, value: object = None) -> NetworkFileError:
        return self.source.error(self.parser.CurrentByteIndex, message, value)

    def entity(self, name: str, *_: object) -> None:
        raise self.error(f"the file declares the entity {name!r}; networks with entities are not read", name)

    def skipped(self, name: str, _: object) -> None:
        raise self.error(f"the entity {name!r} is not declared", name)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.upper()
        tag = "DEFINITION" if tag == "PROBABILITY" else tag
        if tag not in _INSIDE.get(self.path[-1], ()):
            where = f"inside <{self.path[-1]}>" if self.path[-1] else "at the outermost level"
            raise self.error(f"<{tag[:60]}> has no place {where}", tag)
        if tag == "VARIABLE" and attributes.get("TYPE", "nature").lower() not in ("nature", "discrete"):
            raise self.error(f"a variable of type {attributes['TYPE'][:60]!r} is not read", attributes["TYPE"])
        if tag in ("VARIABLE", "DEFINITION"):
            self.parts, self.block = [], self.parser.CurrentByteIndex
        self.keep_blanks = attributes.get("xml:space") == "preserve"
        self.text = []
        self.path.append(tag)
        self.begun = self.parser.CurrentByteIndex

    def characters(self, text: str) -> None:
        if self.path[-1] not in _INSIDE:
            self.text.append(text)
        elif not text.isspace():
            raise self.error("text has no place here", text[:60])

    def end(self, _: str) -> None:
        tag = self.path.pop()
        if tag == "VARIABLE":
            self.variable()
        elif tag == "DEFINITION":
            self.definition()
        elif tag not in _INSIDE:
            text = "".join(self.text)
            text = text if self.keep_blanks else text.strip()
            if self.path[-1] != "NETWORK":
                self.parts.append((tag, text, self.begun))
            elif tag == "NAME":
                self.draft.name = text
            elif text:
                self.draft.properties.append(text)

    def variable(self) -> None:
        states = tuple(text for tag, text, _ in self.parts if tag in ("OUTCOME", "VALUE"))
        properties = [text for tag, text, _ in self.parts if tag == "PROPERTY" and text]
        name, offset = self.only("NAME")
        self.draft.add_node(name, DraftNode(states, offset, properties))

    def definition(self) -> None:
        given = [(text, offset) for tag, text, offset in self.parts if tag == "GIVEN"]
        child, (table, offset) = self.only("FOR"), self.only("TABLE")
        self.definitions.append(([child, *given], table.encode(), offset))

    def only(self, tag: str) -> tuple[str, int]:
        """(text, where it stands) of the one such element of the block."""
        found = [(text, offset) for each, text, offset in self.parts if each == tag]
        if len(found) != 1:
            raise self.source.error(self.block, f"there are {len(found)} <{tag}> here, not one", len(found))
        return found[0]

    def finish(self) -> NetworkDefinition:
        pending = [(self.draft.add_parents(family), text, offset) for family, text, offset in self.definitions]
        self.draft.add_texts(pending)
        return self.draft.finish()


def xmlbif_chunks(definition: NetworkDefinition, lossy: bool) -> Iterator[str]:
    """The text of an XMLBIF file, part by part; `SaveError` for characters that XML has no way to write."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n'
    yield _element("NAME", definition.name)
    yield from (_element("PROPERTY", text) for text in definition.properties.get("", ()))
    for node, states in definition.states.items():
        yield '<VARIABLE TYPE="nature">\n' + _element("NAME", node)
        yield from (_element("OUTCOME", text) for text in state_texts(node, states))
        properties = (*definition.properties.get(node, ()), types_property(states))
        yield from (_element("PROPERTY", text) for text in properties if text is not None)
        yield "</VARIABLE>\n"
    for node, parents in definition.parents.items():
        yield "<DEFINITION>\n" + _element("FOR", node)
        yield from (_element("GIVEN", parent) for parent in parents)
        yield "<TABLE>\n"
        table = definition.tables[node]
        for row in table.reshape(-1, table.shape[-1]).tolist():
            yield f" {' '.join(map(repr, row))}\n"
        yield "</TABLE>\n</DEFINITION>\n"
    yield "</NETWORK>\n</BIF>\n"


def _element(tag: str, text: str) -> str:
    if found := _NOT_XML.search(text):
        raise SaveError(
            f"XML cannot hold the character {found[0]!r} of {text!r}.",
            value=text,
            remedy="Rename it, or choose another format.",
        )
    keep = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<{tag}{keep}>{escape(text, {chr(13): '&#13;'})}</{tag}>\n"
