"""`Picture`: a network's arrows, with marginals in the nodes, as SVG and HTML of its own."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from credo.errors import ParameterError, UnavailableError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.drawing.boxes import Box, box_of, is_soft
from credo.models.network.drawing.layers import Layered, layered
from credo.models.network.drawing.places import spread
from credo.models.network.drawing.words import escaped
from credo.numerics.readable import count

__all__ = ["MOST_BARS", "MOST_NODES", "Picture", "network_html", "network_svg"]

# Nodes whose bars can still be read, and nodes whose names can.
MOST_BARS, MOST_NODES = 40, 300
# Pixels between boxes of a layer, between layers, and around everything.
GAP, DROP, MARGIN = 22.0, 44.0, 12.0

_LIGHT = {
    "ink": "#1b1f24", "soft": "#57606a", "box": "#ffffff", "line": "#8a94a3", "rail": "#e8ebf0", "bar": "#3f6fb5",
    "seen": "#fff3d6", "seen-line": "#b07a00", "seen-bar": "#c98a00", "set": "#efe6fb", "set-line": "#6f42c1",
    "set-bar": "#7c4fd0", "cut": "#b8bfc9",
}  # fmt: skip
_DARK = {
    "ink": "#e6e8eb", "soft": "#a9b1bc", "box": "#1d2127", "line": "#6d7785", "rail": "#2d333b", "bar": "#7aa7ea",
    "seen": "#3a2f12", "seen-line": "#e0ac3a", "seen-bar": "#e0ac3a", "set": "#2c2144", "set-line": "#b592f5",
    "set-bar": "#b592f5", "cut": "#4a525d",
}  # fmt: skip
_RULES = (
    "text{font:12px system-ui,sans-serif;fill:var(--ink)}",
    ".name{font-size:13px;font-weight:600}",
    ".note{font-size:10.5px;fill:var(--seen-line)}",
    ".set .note{fill:var(--set-line)}",
    ".p{font-size:10.5px;fill:var(--soft);font-variant-numeric:tabular-nums}",
    ".box{fill:var(--box);stroke:var(--line);stroke-width:1.2}",
    ".rail{fill:var(--rail)}",
    ".bar{fill:var(--bar)}",
    ".observed .box,.soft .box{fill:var(--seen);stroke:var(--seen-line);stroke-width:2}",
    ".soft .box{stroke-dasharray:5 3}",
    ".observed .bar,.soft .bar{fill:var(--seen-bar)}",
    ".set .box{fill:var(--set);stroke:var(--set-line);stroke-width:2.5}",
    ".set .bar{fill:var(--set-bar)}",
    ".arrow{fill:none;stroke:var(--line);stroke-width:1.4}",
    ".cut{stroke:var(--cut);stroke-dasharray:3 5}",
    "marker path{fill:var(--line)}",
    "marker.faint path{fill:var(--cut)}",
)


def network_svg(
    definition: NetworkDefinition,
    marginals: Mapping[str, Mapping[Any, float]] | None = None,
    evidence: Mapping[str, Any] | None = None,
    *,
    actions: Mapping[str, Any] | None = None,
) -> str:
    """The network as SVG text: arrows downwards, each node's marginals as bars, what is known in colour.

    Parameters
    ----------
    definition : the network
    marginals : {node: {state: p}}, as of `BayesianNetwork.marginals`; None draws names only, as do more than 40 nodes
    evidence : {node: state}: these nodes are marked "observed", or "likely" where likelihoods stand for the state
    actions : {node: state} set from outside: marked "set", and the arrows into them dotted, for they do not act

    Raises
    ------
    UnavailableError : more than 300 nodes
    ParameterError : a node that is none

    Cost: a few milliseconds on small networks, a second on 300 nodes.

    >>> coin = NetworkDefinition({"coin": ("head", "tail")}, {}, {"coin": [0.5, 0.5]})
    >>> network_svg(coin, {"coin": {"head": 0.5, "tail": 0.5}}).startswith("<svg")
    True
    """
    return Picture.of(definition, marginals, evidence, actions=actions).svg()


def network_html(
    definition: NetworkDefinition,
    marginals: Mapping[str, Mapping[Any, float]] | None = None,
    evidence: Mapping[str, Any] | None = None,
    *,
    actions: Mapping[str, Any] | None = None,
) -> str:
    """The same as a page of its own, without scripts, the numbers as a table below."""
    return Picture.of(definition, marginals, evidence, actions=actions).html()


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn network: `svg()`, `html()`, `write(path)`; notebooks show it."""

    title: str
    said: str
    boxes: tuple[Box, ...]
    graph: Layered
    cut: frozenset[int]
    laws: Mapping[str, Mapping[Any, float]]

    @classmethod
    def of(
        cls,
        definition: NetworkDefinition,
        marginals: Mapping[str, Mapping[Any, float]] | None = None,
        evidence: Mapping[str, Any] | None = None,
        *,
        actions: Mapping[str, Any] | None = None,
    ) -> Picture:
        """Laid out; arguments as of `network_svg`."""
        d, seen, set_, laws = definition, evidence or {}, actions or {}, marginals or {}
        for parameter, given in (("marginals", laws), ("evidence", seen), ("actions", set_)):
            if unknown := [node for node in given if node not in d.states]:
                raise ParameterError("network_svg", parameter, "about nodes of the network", unknown[0])
        if len(d.nodes) > MOST_NODES:
            raise UnavailableError(
                f"A picture of {len(d.nodes)} nodes cannot be read.", value=len(d.nodes),
                remedy=f"Draw at most {MOST_NODES}: a part of the network, such as a node's ancestors.",
            )  # fmt: skip
        place = {node: i for i, node in enumerate(d.nodes)}
        bars = len(d.nodes) <= MOST_BARS
        boxes = tuple(
            box_of(node, d.states[node], laws.get(node), _known(seen, node), _known(set_, node), bars)
            for node in d.nodes
        )
        graph = layered([[place[p] for p in d.parents[node]] for node in d.nodes], [place[n] for n in d.order])
        title = f"Bayesian network{f' {d.name}' if d.name else ''}"
        title += f": {count(len(d.nodes), 'node')}, {count(len(d.edges), 'arrow')}"
        return cls(title, _said(d, laws, seen, set_), boxes, graph, frozenset(place[node] for node in set_), laws)

    def svg(self) -> str:
        """The picture as text."""
        widths = {i: box.width for i, box in enumerate(self.boxes)}
        x = spread(self.graph, widths, len(self.boxes), GAP)
        tops, y = [], MARGIN
        for layer in self.graph.layers:
            height = max((self.boxes[i].height for i in layer if i < len(self.boxes)), default=0.0)
            tops.append((y, y + height))
            y += height + DROP
        width = MARGIN * 2.0 + max(at + widths.get(item, 0.0) / 2.0 for item, at in x.items())
        height = y - DROP + MARGIN
        x = {item: at + MARGIN for item, at in x.items()}
        level = {item: i for i, layer in enumerate(self.graph.layers) for item in layer}
        arrows = [self._arrow(route, x, tops, level) for route in self.graph.routes.values()]
        drawn = [
            box.svg(x[i] - box.width / 2.0, sum(tops[level[i]]) / 2.0 - box.height / 2.0)
            for i, box in enumerate(self.boxes)
        ]
        body = "".join([*arrows, *drawn])
        # A name of its own, so that several pictures on a page do not take each other's colours and tips.
        own = f"n{zlib.crc32((escaped(self.title) + body).encode()):08x}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{own}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" style="max-width:100%;height:auto" role="img" '
            f'aria-labelledby="{own}-t {own}-d"><title id="{own}-t">{escaped(self.title)}</title>'
            f'<desc id="{own}-d">{escaped(self.said)}</desc><style>{_style(own)}</style><defs>'
            + "".join(_marker(own, kind) for kind in ("tip", "faint"))
            + f"</defs>{body.replace('#OWN', '#' + own)}</svg>"
        )

    _repr_svg_ = svg

    def html(self) -> str:
        """A page of its own, without scripts."""
        rows = "".join(
            f'<tr><th scope="row">{escaped(node)}</th><td>'
            + ", ".join(f"{escaped(str(state))} {p:.4g}" for state, p in law.items())
            + "</td></tr>"
            for node, law in self.laws.items()
        )
        table = (
            f"<details><summary>The numbers</summary><table><caption>Probabilities of states</caption>{rows}</table>"
            "</details>"
            if rows
            else ""
        )
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            'content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">'
            f"<title>{escaped(self.title)}</title><style>{_PAGE}</style></head><body><main>"
            f"<h1>{escaped(self.title)}</h1><p>{escaped(self._known())}</p>"
            f'<div class="picture">{self.svg()}</div>{table}</main></body></html>\n'
        )

    def write(self, path: str | Path) -> None:
        """To a file that ends in .svg, or .html for a page; whole or not at all."""
        from credo.saving import atomic_write

        if not str(path).lower().endswith((".svg", ".html")):
            raise ParameterError("Picture.write", "path", "a name that ends in .svg or .html", str(path))
        text = self.html() if str(path).lower().endswith(".html") else self.svg()
        with atomic_write(Path(path)) as file:
            file.write(text.encode("utf-8"))

    def _known(self) -> str:
        return self.said.partition(". ")[0] + "."

    def _arrow(self, route: tuple[int, ...], x: Any, tops: Any, level: Any) -> str:
        """From the lower edge of the parent to the upper edge of the child; straight down where it passes a layer."""
        first, last = self.boxes[route[0]], self.boxes[route[-1]]
        start = sum(tops[level[route[0]]]) / 2.0 + first.height / 2.0
        stop = sum(tops[level[route[-1]]]) / 2.0 - last.height / 2.0 - 1.5
        path = [f"M{x[route[0]]:.1f} {start:.1f}V{tops[level[route[0]]][1]:.1f}"]
        at, y = x[route[0]], tops[level[route[0]]][1]
        for item in route[1:]:
            # An end of its own for the tip: the last few pixels are straight.
            top, bottom = tops[level[item]]
            reach = top - 7.0 if item == route[-1] else top
            bend = (reach - y) * 0.55
            path.append(f"C{at:.1f} {y + bend:.1f} {x[item]:.1f} {reach - bend:.1f} {x[item]:.1f} {reach:.1f}")
            path.append(f"V{stop if item == route[-1] else bottom:.1f}")
            at, y = x[item], bottom
        cut = route[-1] in self.cut
        tip = "faint" if cut else "tip"
        return f'<path class="arrow{" cut" if cut else ""}" d="{"".join(path)}" marker-end="url(#OWN-{tip})"/>'


def _known(given: Mapping[str, Any], node: str) -> tuple[Any, ...]:
    return (given[node],) if node in given else ()


def _said(d: NetworkDefinition, laws: Any, seen: Mapping[str, Any], set_: Mapping[str, Any]) -> str:
    """For those who cannot see it: what is known, then arrows and laws (of so many nodes as one listens to)."""
    known = [f"{node} was seen with likelihoods" if is_soft(at) else f"{node} is {at}" for node, at in seen.items()]
    known += [f"{node} is set to {state}" for node, state in set_.items()]
    lines = [("Given " + ", ".join(known)) if known else "Without evidence"]
    some = d.nodes[:MOST_BARS]
    for node in some:
        above = f"{node} depends on {', '.join(d.parents[node])}" if d.parents[node] else f"{node} has no causes"
        if node in laws:
            above += ": " + ", ".join(f"{state} {p:.3g}" for state, p in list(laws[node].items())[:12])
        lines.append(above)
    if len(some) < len(d.nodes):
        lines.append(f"and {len(d.nodes) - len(some)} more nodes")
    return ". ".join(lines) + "."


def _style(own: str) -> str:
    """Rules for this picture alone."""
    rules = "".join(
        ",".join(f"#{own} {each}" for each in selectors.split(",")) + "{" + body
        for selectors, _, body in (rule.partition("{") for rule in _RULES)
    )
    light, dark = (";".join(f"--{name}:{value}" for name, value in colours.items()) for colours in (_LIGHT, _DARK))
    return f"#{own}{{{light}}}{rules}@media(prefers-color-scheme:dark){{#{own}{{{dark}}}}}"


def _marker(own: str, kind: str) -> str:
    return (
        f'<marker id="{own}-{kind}" class="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8Z"/></marker>'
    )


_PAGE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:0;background:#fbfcfd;color:#1b1f24}"
    "main{max-width:110rem;margin:0 auto;padding:1.5rem}h1{font-size:1.3rem}.picture{overflow-x:auto}"
    "table{border-collapse:collapse;margin-top:1rem}th,td{text-align:left;padding:.2rem .8rem .2rem 0}"
    "@media(prefers-color-scheme:dark){body{background:#14171b;color:#e6e8eb}}"
)
