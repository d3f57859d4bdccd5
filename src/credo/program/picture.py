"""The plate diagram of a model, as SVG: layered from causes to data, plates around nodes that share their dims.

Latent nodes are circles, observed ones filled circles, data and expressions with a name small boxes; an arrow leads
from every named node to those whose law or expression it is in. The picture states no positions: it is laid out in
layers by longest path and columns by dims, and scales with the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

from credo.program.nodes import Dims, Node
from credo.program.writing import law_written

if TYPE_CHECKING:
    from credo.program.model import Model

__all__ = ["plate_diagram"]

STEP_X, STEP_Y, RADIUS, MARGIN = 132.0, 104.0, 26.0, 44.0
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:currentColor;text-anchor:middle}"
    ".note{font-size:11px;opacity:.75}.node,.plate{fill:none;stroke:currentColor;stroke-width:1.4}"
    ".seen{fill:currentColor;fill-opacity:.16}.plate{stroke-dasharray:5 4;opacity:.6}"
    ".edge{stroke:currentColor;stroke-width:1.2;fill:none}"
)


def plate_diagram(model: Model) -> str:
    """See `Model.graph`."""
    nodes = list(model.nodes.values())
    edges = _edges(nodes, model)
    places = _placed(nodes, edges)
    plates = _plates(nodes, places)
    width = max(x for x, _ in places.values()) + MARGIN + RADIUS + 20.0
    height = max(y for _, y in places.values()) + MARGIN + RADIUS + 24.0
    body = [_plate(name, box) for name, box in plates.items()]
    body += [_edge(places[a], places[b]) for a, b in edges]
    body += [_drawn(node, places[node.number], model) for node in nodes]
    title = escape("Plate diagram: " + ", ".join(str(node.name) for node in nodes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'role="img"><title>{title}</title><style>{STYLE}</style>'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>' + "".join(body) + "</svg>\n"
    )


def _edges(nodes: list[Node], model: Model) -> list[tuple[int, int]]:
    """From each named node to the named nodes computed or drawn from it."""
    named = {node.number for node in nodes}
    edges = []
    for node in nodes:
        seen: set[int] = set()
        stack = list(node.parents)
        if node.kind == "fill":
            law = next(f.law for f in model.factors if f.node is node)
            stack = [value for value in law.parameters.values() if isinstance(value, Node)]  # type: ignore[union-attr]
        while stack:
            parent = stack.pop()
            if parent.number in seen:
                continue
            seen.add(parent.number)
            if parent.number in named:
                edges.append((parent.number, node.number))
            else:
                stack.extend(parent.parents)
    return edges


def _placed(nodes: list[Node], edges: list[tuple[int, int]]) -> dict[int, tuple[float, float]]:
    layer: dict[int, int] = {}
    causes: dict[int, list[int]] = {node.number: [] for node in nodes}
    for a, b in edges:
        causes[b].append(a)
    for node in nodes:  # declaration order is topological
        layer[node.number] = max((layer[a] + 1 for a in causes[node.number]), default=0)
    for a in sorted(layer, reverse=True):  # causes stand right above the first thing they act on
        effects = [layer[b] for x, b in edges if x == a]
        if effects:
            layer[a] = max(layer[a], min(effects) - 1)
    columns = _columns(nodes, layer)
    widths = [max(layer_counts.values()) for layer_counts in columns.values()]
    offsets = np.cumsum([0, *widths])
    places: dict[int, tuple[float, float]] = {}
    for (group, counts), offset, width in zip(columns.items(), offsets, widths):
        taken: dict[int, int] = {}
        for node in (n for n in nodes if n.dims == group):
            depth = layer[node.number]
            slot = taken.get(depth, 0) + (width - counts[depth]) / 2.0
            taken[depth] = taken.get(depth, 0) + 1
            places[node.number] = (MARGIN + RADIUS + (offset + slot) * STEP_X, MARGIN + RADIUS + depth * STEP_Y)
    return places


def _columns(nodes: list[Node], layer: dict[int, int]) -> dict[Dims, dict[int, int]]:
    """Dims → how many nodes of them each layer has; groups that share a dim stand side by side, so that plates are
    plain boxes."""
    groups: dict[Dims, dict[int, int]] = {}
    for node in nodes:
        counts = groups.setdefault(node.dims, {})
        counts[layer[node.number]] = counts.get(layer[node.number], 0) + 1
    order = {dim: k for k, dim in enumerate(dict.fromkeys(d for g in groups for d in g if d is not None))}

    def key(group: Dims) -> tuple[float, int]:
        known = [order[d] for d in group if d is not None]
        return (sum(known) / len(known) if known else -1.0, len(known))

    return {group: groups[group] for group in sorted(groups, key=key)}


def _plates(nodes: list[Node], places: dict[int, tuple[float, float]]) -> dict[str, tuple[float, float, float, float]]:
    """Dim → the box around its nodes, where that box holds no other node."""
    plates = {}
    dims = {dim: size for node in nodes for dim, size in zip(node.dims, node.shape) if dim is not None}
    for k, (dim, size) in enumerate(dims.items()):
        inside = [places[node.number] for node in nodes if dim in node.dims]
        pad = RADIUS + 12.0 + 5.0 * (k % 3)
        x0, x1 = min(x for x, _ in inside) - pad, max(x for x, _ in inside) + pad
        y0, y1 = min(y for _, y in inside) - pad, max(y for _, y in inside) + pad + 16.0
        others = [places[node.number] for node in nodes if dim not in node.dims]
        if not any(x0 < x < x1 and y0 < y < y1 for x, y in others):
            plates[f"{dim}: {size}"] = (x0, y0, x1, y1)
    return plates


def _plate(name: str, box: tuple[float, float, float, float]) -> str:
    x0, y0, x1, y1 = box
    place = f'x="{x1 - 6:.0f}" y="{y1 - 6:.0f}" style="text-anchor:end"'
    return (
        f'<rect class="plate" x="{x0:.0f}" y="{y0:.0f}" width="{x1 - x0:.0f}" height="{y1 - y0:.0f}" rx="8"/>'
        f'<text class="note" {place}>{escape(name)}</text>'
    )


def _edge(a: tuple[float, float], b: tuple[float, float]) -> str:
    length = float(np.hypot(b[0] - a[0], b[1] - a[1])) or 1.0
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    ends = (a[0] + RADIUS * ux, a[1] + RADIUS * uy, b[0] - (RADIUS + 2) * ux, b[1] - (RADIUS + 2) * uy)
    return f'<path class="edge" marker-end="url(#tip)" d="M{ends[0]:.1f} {ends[1]:.1f} {ends[2]:.1f} {ends[3]:.1f}"/>'


def _drawn(node: Node, place: tuple[float, float], model: Model) -> str:
    x, y = place
    factor = next((f for f in model.factors if f.node is node), None)
    name = escape(str(node.name))
    if factor is not None and factor.law is not None:
        seen = " seen" if factor.observed else ""
        shape = f'<circle class="node{seen}" cx="{x:.0f}" cy="{y:.0f}" r="{RADIUS:.0f}"/>'
        about = f"{node.name} ~ {law_written(factor.law)}"
    else:
        shape = (f'<rect class="node" x="{x - RADIUS:.0f}" y="{y - 15:.0f}" width="{2 * RADIUS:.0f}" height="30" '
                 'rx="3"/>')  # fmt: skip
        about = repr(node)
    short = name if len(name) <= 7 else ""
    outside = "" if short else f'<text x="{x:.0f}" y="{y + RADIUS + 14:.0f}">{name}</text>'
    return (f"<g><title>{escape(about)}</title>{shape}"
            f'<text x="{x:.0f}" y="{y + 5:.0f}">{short}</text>{outside}</g>')  # fmt: skip
