"""How a node is told: by its name, or as the expression it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.program.ops import OPS

if TYPE_CHECKING:
    from credo.program.nodes import Node

__all__ = ["described"]


# So many parts of an expression are told; a recursion of a thousand steps would be told a million times over.
MOST = 200


def described(node: Node) -> str:
    """Its name, or the expression it is; the inner parts of a long one as …"""
    return _text(node, [MOST])


def _text(node: Node, left: list[int]) -> str:
    left[0] -= 1
    if node.name is not None:
        return node.name
    if node.kind == "constant":
        return f"{node.value.item():.6g}" if node.value.size == 1 else f"array{node.shape}"  # type: ignore[union-attr]
    if not node.is_operation:
        return node.kind
    if left[0] < 0:
        return "…"
    arguments = [_bracketed(node, i, left) for i in range(len(node.parents))]
    written = OPS[node.kind].written
    name = node.static.get("called", node.kind)
    args, rest = ", ".join(arguments), ", ".join(arguments[1:])
    return written.format(*arguments, name=name, args=args, rest=rest, key=_written_key(node))


_LOOSE = {
    "add": 1, "subtract": 1, "multiply": 2, "divide": 2, "matmul": 2, "sparse_matmul": 2, "negative": 3, "power": 4,
}  # fmt: skip


def _bracketed(node: Node, i: int, left: list[int]) -> str:
    child = node.parents[i]
    text = _text(child, left)
    outer, inner = _LOOSE.get(node.kind), _LOOSE.get(child.kind, 9)
    if child.name is None and (node.kind in ("take", "pick", "slice", "transpose", "square") and inner < 9):
        return f"({text})"
    if child.name is not None or outer is None or inner > outer:
        return text
    same = (inner == outer and i == 0) or (node.kind == child.kind and node.kind in ("add", "multiply"))
    return text if same else f"({text})"


def _written_key(node: Node) -> str:
    def each(k: Any) -> str:
        if not isinstance(k, slice):
            return str(k)
        ends = ("" if k.start is None else str(k.start)) + ":" + ("" if k.stop is None else str(k.stop))
        return ends + (f":{k.step}" if k.step is not None else "")

    return ", ".join(each(k) for k in node.static.get("key", ()))
