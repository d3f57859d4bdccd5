"""Parts through an elimination order, each summed over its own hidden nodes. Importing this module compiles it.

A pattern of hidden nodes is looked at once: which products of which axes remain (`prepare`). Then each part of that
pattern runs these products (`evaluate`); tables that hang on no observed cell keep their values from the one before.
"""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["LAW", "MAXIMUM", "SUPPORT", "TOTAL", "HARD", "IMPOSSIBLE", "OK", "run_parts"]

#: what became of a row; HARD: out of floating point's range, or of room
OK, IMPOSSIBLE, HARD = 0, 1, 2
# No product of two numbers above this is lost to underflow; and below this a table formed is divided by its largest.
TINY, SMALL = 1e-140, 1e-10
# What is asked of a part: the target's law, the total, the maximum, or whether tables with zeros let it be.
LAW, TOTAL, MAXIMUM, SUPPORT = 0, 1, 2, 3
# A record: step, a, b, loops of the result, loops summed over, told, where the result lies, its size; then the loops.
HEAD = 8
# An unsigned index is used as it is, where a signed one is first looked at for its sign.
U = np.uint64

_i8, _i8s, _f8s, _i4t = numba.int64, numba.int64[::1], numba.float64[::1], numba.int32[:, ::1]


@numba.njit(numba.void(_i8s, _i8s, _i8, _i8), nogil=True, cache=True, error_model="numpy")
def write_strides(net, room, table, into):  # type: ignore[no-untyped-def]
    """A table's strides by variable; those formed lie densely."""
    AXIS_AT, AXES, STRIDES, PRESENT, SIZES = net[4], net[5], net[6], net[15], net[3]
    step = 1
    for i in range(net[U(AXIS_AT + table + 1)] - 1, net[U(AXIS_AT + table)] - 1, -1):
        v = net[U(AXES + i)]
        if table < net[0]:
            room[U(into + v)] = net[U(STRIDES + i)]
        elif room[U(PRESENT + v)]:
            room[U(into + v)] = step
            step *= net[U(SIZES + v)]


@numba.njit(_i8(_i8s, _i8s, _i8, _i8, _i8, _i8, _i8), nogil=True, cache=True, error_model="numpy")
def write_loops(net, room, first, last, put, floor, join):  # type: ignore[no-untyped-def]
    """Loops over the present ones of some axes; neighbours that both tables step through evenly are one if `join`."""
    SIZES, PRESENT, SA, SB, PROGRAM = net[3], net[15], net[21], net[22], net[26]
    for i in range(first, last):
        v = net[U(i)]
        if room[U(PRESENT + v)]:
            m, p, q = net[U(SIZES + v)], room[U(SA + v)], room[U(SB + v)]
            b = PROGRAM + put - 4
            if join and put > floor and room[U(b + 1)] == m * p and room[U(b + 2)] == m * q:
                room[U(b)] *= m
                room[U(b + 1)] = p
                room[U(b + 2)] = q
            else:
                room[U(b + 4)], room[U(b + 5)], room[U(b + 6)], room[U(b + 7)] = m, p, q, v
                put += 4
    return put


@numba.njit(_i8(_i8s, _i8s, _i8), nogil=True, cache=True, error_model="numpy")
def prepare(net, room, kind):  # type: ignore[no-untyped-def]
    """Write the products for parts whose hidden nodes are those `present`; the entries they take, or −1: too many."""
    n, n_steps, SIZES, AXIS_AT, AXES, STEPS, GONE_AT, GONE = (
        net[0], net[2], net[3], net[4], net[5], net[10], net[11], net[12],
    )  # fmt: skip
    NEEDED, PRESENT, REAL, SAME, TOLD, PLACE = net[14], net[15], net[16], net[17], net[18], net[19]
    ZEROS, SA, SB, WHOLE, STARTS, PROGRAM = net[13], net[21], net[22], net[24], net[25], net[26]
    n_whole, join = 0, int(kind != MAXIMUM)
    for v in range(n):
        real, told = 0, 0
        needed = room[U(NEEDED + v)] and (kind != SUPPORT or net[U(ZEROS + v)])
        if needed and kind == SUPPORT:  # tables without a 0 where they are may have axes beyond the part
            for i in range(net[U(AXIS_AT + v)], net[U(AXIS_AT + v + 1)]):
                needed &= room[U(NEEDED + net[U(AXES + i)])] == 1
        if needed:
            for i in range(net[U(AXIS_AT + v)], net[U(AXIS_AT + v + 1)]):
                if room[U(PRESENT + net[U(AXES + i)])]:
                    real = 1
                else:
                    told = 1
            if real:
                room[U(WHOLE + n_whole)] = v
                n_whole += 1
        room[U(REAL + v)], room[U(SAME + v)], room[U(TOLD + v)] = real, v, told
    at, n_ops, size = 0, 0, 1
    for k in range(n_steps):
        a, b, out = net[U(STEPS + 2 * k)], net[U(STEPS + 2 * k + 1)], n + k
        room[U(REAL + out)] = 0
        if b >= 0 and not room[U(REAL + b)]:
            b = -1
        if not room[U(REAL + a)]:
            a, b = b, -1
        if a < 0:
            continue
        n_gone = 0
        for i in range(net[U(GONE_AT + k)], net[U(GONE_AT + k + 1)]):
            n_gone += room[U(PRESENT + net[U(GONE + i)])]
        told = room[U(TOLD + a)]
        a = room[U(SAME + a)]
        if b >= 0:
            told |= room[U(TOLD + b)]
            b = room[U(SAME + b)]
        room[U(TOLD + out)] = told
        if b < 0 and n_gone == 0:
            room[U(REAL + out)], room[U(SAME + out)] = 1, a
            continue
        write_strides(net, room, a, SA)
        if b >= 0:
            write_strides(net, room, b, SB)
        floor = at + HEAD
        first, last = net[U(AXIS_AT + out)], net[U(AXIS_AT + out + 1)]
        entries = 1.0
        for i in range(first, last):
            v = net[U(AXES + i)]
            if room[U(PRESENT + v)]:
                entries *= net[U(SIZES + v)]
        if size + entries > 1e12:
            return -1
        middle = write_loops(net, room, AXES + first, AXES + last, floor, floor, join)
        end = write_loops(net, room, GONE + net[U(GONE_AT + k)], GONE + net[U(GONE_AT + k + 1)], middle, middle, join)
        for i in range(net[U(AXIS_AT + a)], net[U(AXIS_AT + a + 1)]):
            room[U(SA + net[U(AXES + i)])] = 0
        if b >= 0:
            for i in range(net[U(AXIS_AT + b)], net[U(AXIS_AT + b + 1)]):
                room[U(SB + net[U(AXES + i)])] = 0
        # the one that holds the innermost axis of the result comes first
        if join and b >= 0 and middle > floor and room[U(PROGRAM + middle - 3)] == 0:
            a, b = b, a
            for i in range(PROGRAM + floor + 1, PROGRAM + end, 4):
                m = room[U(i)]
                room[U(i)] = room[U(i + 1)]
                room[U(i + 1)] = m
        p = PROGRAM + at
        room[U(p)], room[U(p + 1)], room[U(p + 2)], room[U(p + 3)] = k, a, b, (middle - floor) // 4
        room[U(p + 4)], room[U(p + 5)], room[U(p + 6)], room[U(p + 7)] = (end - middle) // 4, told, size, int(entries)
        room[U(STARTS + n_ops)] = at
        room[U(PLACE + k)] = size
        room[U(REAL + out)], room[U(SAME + out)] = int(middle > floor), out
        size += int(entries)
        at = end
        n_ops += 1
    room[1], room[2] = n_whole, n_ops
    return size


@numba.njit(numba.void(_i8s, _i8s, _i4t, _i8), nogil=True, cache=True, error_model="numpy")
def write_bases(net, room, cells, row):  # type: ignore[no-untyped-def]
    """Where each table given begins for this row."""
    AXIS_AT, AXES, STRIDES, TABLE_AT, PRESENT, BASE, WHOLE = net[4], net[5], net[6], net[7], net[15], net[23], net[24]
    for i in range(room[1]):
        v = room[U(WHOLE + i)]
        p = net[U(TABLE_AT + v)]
        for j in range(net[U(AXIS_AT + v)], net[U(AXIS_AT + v + 1)]):
            u = net[U(AXES + j)]
            if not room[U(PRESENT + u)]:
                p += net[U(STRIDES + j)] * cells[U(row), U(u)]
        room[U(BASE + v)] = p


@numba.njit(_i8(_i8s, _i8s, _f8s, _i4t, _i8, _f8s, _f8s, _i8, _i8), nogil=True, cache=True, error_model="numpy")
def evaluate(net, room, tables, cells, row, work, scale, kind, fresh):  # type: ignore[no-untyped-def]
    """Run the products for one part: OK, IMPOSSIBLE or HARD; the last of `scale` is the log of their divisors."""
    n, PLACE, COUNTS, BASE, STARTS, PROGRAM = net[0], net[19], net[20], net[23], net[25], net[26]
    product, logs = 1.0, 0.0
    write_bases(net, room, cells, row)
    for op in range(room[2]):
        at = PROGRAM + room[U(STARTS + op)]
        k = room[U(at)]
        if fresh or room[U(at + 5)]:
            a, b, n_out, n_gone = room[U(at + 1)], room[U(at + 2)], room[U(at + 3)], room[U(at + 4)]
            o, size = room[U(at + 6)], room[U(at + 7)]
            A = tables if a < n else work
            B = tables if 0 <= b < n else work
            p = room[U(BASE + a)] if a < n else room[U(PLACE + a - n)]
            q = 0 if b < 0 else (room[U(BASE + b)] if b < n else room[U(PLACE + b - n)])
            outs = at + HEAD
            gone = outs + 4 * n_out
            n0, p0, q0, rows, n1, p1, q1 = 1, 0, 0, 1, 1, 0, 0
            if n_gone > 0:
                g = gone + 4 * (n_gone - 1)
                n0, p0, q0 = room[U(g)], room[U(g + 1)], room[U(g + 2)]
                for g in range(gone, gone + 4 * (n_gone - 1), 4):
                    rows *= room[U(g)]
            if n_out > 0:
                g = gone - 4
                n1, p1, q1 = room[U(g)], room[U(g + 1)], room[U(g + 2)]
            top, lost = 0.0, False
            for c in range(COUNTS, COUNTS + n_out + n_gone):
                room[U(c)] = 0
            pb, qb, done = p, q, 0
            blocks = 0  # entries side by side that share the factors of b: four at once
            if p1 == 1 and q1 == 0 and rows == 1 and kind != MAXIMUM:
                blocks = n1 & ~3
            while done < size:
                for i in range(0, blocks, 4):
                    v0 = v1 = v2 = v3 = 0.0
                    pr, qr = pb + i, qb
                    for _ in range(n0):
                        value = B[U(qr)]
                        v0 += A[U(pr)] * value
                        v1 += A[U(pr + 1)] * value
                        v2 += A[U(pr + 2)] * value
                        v3 += A[U(pr + 3)] * value
                        pr += p0
                        qr += q0
                    j = o + done + i
                    work[U(j)] = v0
                    work[U(j + 1)] = v1
                    work[U(j + 2)] = v2
                    work[U(j + 3)] = v3
                    top = max(max(top, v0), max(v1, max(v2, v3)))
                    value = min(min(v0, v1), min(v2, v3))
                    if value < TINY:
                        for j in range(o + done + i, o + done + i + 4):
                            lost |= (work[U(j)] < TINY) & (work[U(j)] > 0.0)
                for i in range(blocks, n1):
                    value = 0.0
                    pr, qr = pb + i * p1, qb + i * q1
                    for _ in range(rows):
                        if kind == MAXIMUM:
                            for _ in range(n0):
                                value = max(value, A[U(pr)] * B[U(qr)])
                                pr += p0
                                qr += q0
                        else:
                            for _ in range(n0):
                                value += A[U(pr)] * B[U(qr)]
                                pr += p0
                                qr += q0
                        if rows > 1:
                            pr -= n0 * p0
                            qr -= n0 * q0
                            c, g = COUNTS + n_out + n_gone - 2, gone + 4 * (n_gone - 2)
                            while g >= gone:
                                room[U(c)] += 1
                                pr += room[U(g + 1)]
                                qr += room[U(g + 2)]
                                if room[U(c)] < room[U(g)]:
                                    break
                                pr -= room[U(c)] * room[U(g + 1)]
                                qr -= room[U(c)] * room[U(g + 2)]
                                room[U(c)] = 0
                                c -= 1
                                g -= 4
                    work[U(o + done + i)] = value
                    top = max(top, value)
                    lost |= (value < TINY) & (value > 0.0)
                done += n1
                c, g = COUNTS + n_out - 2, gone - 8
                while g >= outs:
                    room[U(c)] += 1
                    pb += room[U(g + 1)]
                    qb += room[U(g + 2)]
                    if room[U(c)] < room[U(g)]:
                        break
                    pb -= room[U(c)] * room[U(g + 1)]
                    qb -= room[U(c)] * room[U(g + 2)]
                    room[U(c)] = 0
                    c -= 1
                    g -= 4
            if lost:
                return HARD
            if top == 0.0:
                return IMPOSSIBLE
            scale[U(k)] = 1.0
            if n_out == 0:
                scale[U(k)] = top
            elif top < SMALL:
                scale[U(k)] = top
                for i in range(o, o + size):
                    work[U(i)] /= top
        product *= scale[U(k)]
        if product < TINY:
            logs += math.log(product)
            product = 1.0
    if kind != LAW:
        scale[U(net[2])] = logs + math.log(product)
    return OK


@numba.njit(numba.void(_i8s, _i8s, _f8s, _i4t, _i8, _f8s), nogil=True, cache=True, error_model="numpy")
def trace(net, room, tables, cells, row, work):  # type: ignore[no-untyped-def]
    """Write to the row the states of its hidden nodes at the maximum, the last product first; the first of several."""
    n, PLACE, BASE, STARTS, PROGRAM = net[0], net[19], net[23], net[25], net[26]
    for op in range(room[2] - 1, -1, -1):
        at = PROGRAM + room[STARTS + op]
        a, b = room[at + 1], room[at + 2]
        A = tables if a < n else work
        B = tables if 0 <= b < n else work
        p = room[BASE + a] if a < n else room[PLACE + a - n]
        q = 0 if b < 0 else (room[BASE + b] if b < n else room[PLACE + b - n])
        gone = at + HEAD + 4 * room[at + 3]
        end = gone + 4 * room[at + 4]
        for g in range(at + HEAD, gone, 4):
            p += cells[row, room[g + 3]] * room[g + 1]
            q += cells[row, room[g + 3]] * room[g + 2]
        rows = 1
        for g in range(gone, end, 4):
            rows *= room[g]
        best, most = 0, -1.0
        for r in range(rows):
            pr, qr, rest = p, q, r
            for g in range(end - 4, gone - 4, -4):
                state = rest % room[g]
                rest //= room[g]
                pr += state * room[g + 1]
                qr += state * room[g + 2]
            value = A[pr] * B[qr]
            if value > most:
                most = value
                best = r
        for g in range(end - 4, gone - 4, -4):
            cells[row, room[g + 3]] = best % room[g]
            best //= room[g]


@numba.njit(
    _i8(_i8s, _i8s, _f8s, _i4t, _f8s, _f8s, _i8, _i8, _i8, _i8, numba.float64[:, ::1], _f8s, _i8s),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def run_parts(net, room, tables, cells, work, scale, start, most, target, kind, laws, logs, status):  # type: ignore[no-untyped-def]
    """Parts from `start` on; returns where it stopped for want of room (of room[3]), or the number of parts.

    cells (n, nodes) : −1 hidden, −2 not in the part; filled at a maximum ; laws (n, states) : of the target
    kind : LAW, TOTAL, MAXIMUM or SUPPORT ; logs (n,) : log of the total or maximum
    status (n,) ; most : entries a part may take
    """
    n, answer, SIZES = net[0], net[1], net[3]
    NEEDED, PRESENT, SAME, PLACE, SA, BASE = net[14], net[15], net[17], net[19], net[21], net[23]
    fresh, fits, step = 1, True, 1
    work[0] = 1.0  # stands in for a second table
    for row in range(start, cells.shape[0]):
        alike = row > start
        for v in range(n):
            if not alike:
                break
            cell = cells[U(row), U(v)]
            alike = (cell == -1) == (room[U(PRESENT + v)] == 1) and (cell == -2) == (room[U(NEEDED + v)] == 0)
        if not alike:
            for v in range(n):
                room[U(PRESENT + v)] = int(cells[U(row), U(v)] == -1)
                room[U(NEEDED + v)] = int(cells[U(row), U(v)] != -2)
            need = prepare(net, room, kind)
            fits = 0 <= need <= most
            if fits and need > work.size:
                room[3] = need
                return row
            fresh = 1
            if kind == LAW and fits:
                table = room[SAME + answer]
                write_strides(net, room, table, SA)
                step = room[SA + target]
                for v in range(n):
                    room[SA + v] = 0
        status[row] = HARD
        if not fits:
            continue
        status[row] = evaluate(net, room, tables, cells, row, work, scale, kind, fresh)
        if status[row] != OK:
            fresh = 1  # what was not reached has no value yet
            continue
        fresh = 0
        logs[row] = scale[net[2]]
        if kind == MAXIMUM:
            trace(net, room, tables, cells, row, work)
        elif kind == LAW:
            table = room[SAME + answer]
            held = tables if table < n else work
            at = room[BASE + table] if table < n else room[PLACE + table - n]
            mass = 0.0
            for state in range(net[SIZES + target]):
                laws[row, state] = held[U(at + state * step)]
                mass += laws[row, state]
            if mass == 0.0:
                status[row] = IMPOSSIBLE
            for state in range(net[SIZES + target]):
                laws[row, state] /= mass
    return cells.shape[0]
