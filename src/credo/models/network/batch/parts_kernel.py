"""Rows cut into parts, compiled: hidden nodes that share a table, with the observed cells around them.

For the law of a target alone, the part with the target is followed by those that decide whether the rest is possible:
hidden nodes that share a table with a 0 in it.
"""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["gather", "move", "split"]

U = np.uint64
TINY = 1e-140
_i8, _i8s, _f8s = numba.int64, numba.int64[::1], numba.float64[::1]
_i4t, _i8t, _f8t = numba.int32[:, ::1], numba.int64[:, ::1], numba.float64[:, ::1]


@numba.njit(_i8(_i8t, _i8, _i8), nogil=True, cache=True, error_model="numpy")
def insert(table, a, b):  # type: ignore[no-untyped-def]
    """Where keys (a, b) are in an open table (slots, 3), or the free slot where they belong."""
    mask = table.shape[0] - 1
    slot = (a ^ (a >> 29)) & mask
    while table[slot, 2] >= 0 and (table[slot, 0] != a or table[slot, 1] != b):
        slot = (slot + 1) & mask
    return slot


@numba.njit(numba.void(_i8t, _i8t), nogil=True, cache=True, error_model="numpy")
def move(table, larger):  # type: ignore[no-untyped-def]
    """Put all of a table into a larger, empty one."""
    for old in range(table.shape[0]):
        if table[old, 2] >= 0:
            slot = insert(larger, table[old, 0], table[old, 1])
            for i in range(3):
                larger[slot, i] = table[old, i]


@numba.njit(numba.boolean(_i8s, _i8s, _f8s, _i4t, _i8), nogil=True, cache=True, error_model="numpy")
def witness(net, room, tables, cells, row):  # type: ignore[no-untyped-def]
    """Whether the row is possible beyond the target's part when hidden nodes there, from the parents down, are each in
    their most probable state. If not, it may be possible all the same.
    """
    SIZES, AXIS_AT, AXES, STRIDES, TABLE_AT = net[3], net[4], net[5], net[6], net[7]
    NEEDED, PRESENT, CHOSEN = net[14], net[15], net[21]
    for v in range(net[0]):
        if room[U(NEEDED + v)] == 0 or room[U(PRESENT + v)] == 2:
            continue
        room[U(CHOSEN + v)] = cells[U(row), U(v)] if room[U(PRESENT + v)] == 0 else 0
        p, apart = net[U(TABLE_AT + v)], True
        for i in range(net[U(AXIS_AT + v)], net[U(AXIS_AT + v + 1)]):
            u = net[U(AXES + i)]
            apart &= room[U(PRESENT + u)] != 2
            p += net[U(STRIDES + i)] * room[U(CHOSEN + u)]
        if not apart:
            continue
        if room[U(PRESENT + v)] == 1:
            best = 0
            for state in range(1, net[U(SIZES + v)]):
                if tables[U(p + state)] > tables[U(p + best)]:
                    best = state
            room[U(CHOSEN + v)] = best
        elif tables[U(p)] == 0.0:
            return False
    return True


@numba.njit(
    _i8(_i8s, _i8s, _f8s, numba.boolean[::1], _i8t, _i8s, _i4t, _i8, _i8, _i8, _i8t, _i4t, _i8s, _i8s, _i8s, _f8s),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def split(
    net, room, tables, holes, salt, salt_at, cells, start, target, kind, table, parts, patterns, part_at, part_of, logs
):  # type: ignore[no-untyped-def]
    """Cut rows from `start` on; returns where it stopped for want of room in `table`, `parts` or `part_of`.

    cells (n, nodes) : −1 missing ; kind : 0 for the target's law, 1 for the total, 2 for the maximum
    salt (2, Σ(states + 1)), salt_at : random numbers by node and cell, whose sums are a part's two keys
    parts (m, nodes) : of each part, cells, −1 hidden and −2 where no matter; room[4] counts them
    patterns (m,) : a number for what is hidden in a part, and what lies around
    part_at (n + 1,), part_of : parts of each row, that with the target first
    logs (n,) : of the product of the tables that are all observed, −∞ where it is 0
    """
    n, AXIS_AT, AXES, STRIDES, TABLE_AT = net[0], net[4], net[5], net[6], net[7]
    CHILD_AT, CHILDREN, ZEROS = net[8], net[9], net[13]
    NEEDED, PRESENT, FAMILY, AROUND, STACK = net[14], net[15], net[16], net[17], net[20]
    HOLE_AT, HOLE_STRIDES, NEAR = net[27], net[28], net[29]
    for v in range(n):
        room[FAMILY + v] = room[AROUND + v] = -1
    serial = 0
    for row in range(start, cells.shape[0]):
        if 2 * (room[4] + n) > table.shape[0] or room[4] + n > parts.shape[0] or part_at[row] + n > part_of.size:
            return row
        # a node with nothing seen in it or below it has a table that sums to 1
        for v in range(n):
            room[U(NEEDED + v)] = int(kind == 2 or v == target or cells[U(row), U(v)] >= 0)
        for v in range(n - 1, -1, -1):
            if room[U(NEEDED + v)]:
                for i in range(net[U(AXIS_AT + v)], net[U(AXIS_AT + v + 1)] - 1):
                    room[U(NEEDED + net[U(AXES + i)])] = 1
        for v in range(n):
            room[U(PRESENT + v)] = int(cells[U(row), U(v)] < 0) & room[U(NEEDED + v)]
        begun, at, certain = serial, part_at[row], False
        for turn in range(-1, n):
            if turn == 0 and kind == 0:
                certain = witness(net, room, tables, cells, row)
                if certain:
                    break
            root = target if turn < 0 else turn
            if root < 0 or room[U(PRESENT + root)] != 1 or (kind == 0 and turn >= 0 and not net[U(NEAR + root)]):
                continue
            key_a, key_b, pattern, tables_met = 0, 0, 0, False
            room[U(PRESENT + root)] = 2
            room[U(STACK)] = root
            height, done = 1, 0
            while done < height:  # the stack keeps all members
                v = room[U(STACK + done)]
                done += 1
                key_a += salt[U(0), U(salt_at[U(v)])]
                key_b += salt[U(1), U(salt_at[U(v)])]
                pattern += salt[U(0), U(salt_at[U(v)])]
                for k in range(net[U(CHILD_AT + v)] - 1, net[U(CHILD_AT + v + 1)]):
                    f = v if k < net[U(CHILD_AT + v)] else net[U(CHILDREN + k)]
                    if room[U(NEEDED + f)] == 0 or room[U(FAMILY + f)] == serial:
                        continue
                    room[U(FAMILY + f)] = serial
                    # whether the rest is possible hangs on the tables that hold a 0
                    if kind == 0 and turn >= 0:
                        place = net[U(HOLE_AT + f)]
                        for i in range(net[U(AXIS_AT + f)], net[U(AXIS_AT + f + 1)]):
                            u = net[U(AXES + i)]
                            if room[U(PRESENT + u)] == 0:
                                place += net[U(HOLE_STRIDES + i)] * (cells[U(row), U(u)] + 1)
                        if not holes[U(place)]:
                            continue
                    tables_met = True
                    for i in range(net[U(AXIS_AT + f)], net[U(AXIS_AT + f + 1)]):
                        u = net[U(AXES + i)]
                        state = room[U(PRESENT + u)]
                        if state == 1:
                            room[U(PRESENT + u)] = 2
                            room[U(STACK + height)] = u
                            height += 1
                        elif state == 0 and room[U(AROUND + u)] != serial:
                            room[U(AROUND + u)] = serial
                            place = salt_at[U(u)] + cells[U(row), U(u)] + 1
                            key_a += salt[U(0), U(place)]
                            key_b += salt[U(1), U(place)]
                            pattern += salt[U(1), U(salt_at[U(u)])]
            if tables_met:
                slot = insert(table, key_a, key_b)
                if table[slot, 2] < 0:
                    new = room[4]
                    table[slot, 0], table[slot, 1], table[slot, 2] = key_a, key_b, new
                    room[4] += 1
                    patterns[new] = pattern
                    for v in range(n):
                        parts[U(new), U(v)] = cells[U(row), U(v)] if room[U(AROUND + v)] == serial else -2
                    for i in range(height):
                        parts[U(new), U(room[U(STACK + i)])] = -1
                part_of[U(at)] = table[slot, 2]
                at += 1
            serial += 1
        part_at[row + 1] = at
        if certain:
            logs[row] = 0.0
            continue
        product, total = 1.0, 0.0
        for f in range(n):
            if room[U(NEEDED + f)] and room[U(FAMILY + f)] < begun and (kind > 0 or net[U(ZEROS + f)]):
                p = net[U(TABLE_AT + f)]
                for i in range(net[U(AXIS_AT + f)], net[U(AXIS_AT + f + 1)]):
                    p += net[U(STRIDES + i)] * cells[U(row), U(net[U(AXES + i)])]
                product *= tables[U(p)]
                if product < TINY:
                    total += math.log(product) if product > 0.0 else -math.inf
                    product = 1.0
        logs[row] = total + math.log(product)
    return cells.shape[0]


@numba.njit(
    numba.void(_i8, _i8s, _i8s, _i4t, _f8t, _f8s, _i8s, _i8, _i8, _f8t, _f8s, _i4t, _i8s),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def gather(target, part_at, part_of, parts, part_laws, part_logs, part_status, kind, start, laws, logs, cells, status):  # type: ignore[no-untyped-def]
    """Put rows together from their parts; status is that of the worst part (see `kernel`)."""
    for row in range(start, cells.shape[0]):
        worst = 1 if logs[row] == -math.inf else 0
        for i in range(part_at[row], part_at[row + 1]):
            part = part_of[i]
            worst = max(worst, part_status[part]) if worst != 1 else 1
            if part_status[part] == 1:
                worst = 1
            logs[row] += part_logs[part]
            if target >= 0 and i == part_at[row]:
                for state in range(laws.shape[1]):
                    laws[row, state] = part_laws[part, state]
            if kind == 2:
                for v in range(cells.shape[1]):
                    if cells[row, v] < 0 and parts[part, v] >= 0:
                        cells[row, v] = parts[part, v]
        status[row] = worst
