"""Easy questions planned by one compiled loop. Importing this module compiles (then caches) it.

The same as `pruning`, `steps` and `layout` do, for sums over hidden variables in a given order: tables that cannot
matter are left out, the others multiplied two by two, and the records written as they come. What is not easy is given
up. All is in one function, as numba optimises what a function calls once more with each caller.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from credo.probability.factors.elimination.layout import HEAD

__all__ = ["CODE", "ENTRIES", "FORMED", "LAST", "ROOTS", "SIZE", "WIDEST", "Graph", "Room", "plan_question"]


class Graph(NamedTuple):
    """Tables and variables by number: what does not hang on the question.

    sizes (n,) : states ; order (n,) : in which to eliminate
    scope_at (tables + 1,), scopes, strides : each table's variables, and its strides ; offsets (tables,) : its place
    law_at (tables + 1,), laws : variables over each of which a table sums to 1
    """

    sizes: np.ndarray
    order: np.ndarray
    scope_at: np.ndarray
    scopes: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray
    law_at: np.ndarray
    laws: np.ndarray


class Room(NamedTuple):
    """Room to work. Tables formed are numbered after those given.

    slot, rank, count, mark (n,) : of a variable its place in the evidence (−1: none), its turn (from n on of targets),
        how many live tables hold it, whether it has been met
    kept (tables,) : whether a table given takes part
    at, length, offset, size : of a table its axes in `axes` and `steps`, its place, its entries
    axes, steps : variables of each table by rank, and its strides
    live, bucket : tables that are left; those that hold a variable ; roots : places of the numbers formed
    loops : rows of four numbers, of what is left and of what is summed over
    info : what comes out, by the names below
    """

    slot: np.ndarray
    rank: np.ndarray
    count: np.ndarray
    mark: np.ndarray
    kept: np.ndarray
    at: np.ndarray
    length: np.ndarray
    offset: np.ndarray
    size: np.ndarray
    axes: np.ndarray
    steps: np.ndarray
    live: np.ndarray
    bucket: np.ndarray
    roots: np.ndarray
    loops: np.ndarray
    info: np.ndarray


#: places in `info`: length of the code; tables formed; room to work; numbers formed; the last table; products formed
CODE, FORMED, SIZE, ROOTS, LAST, ENTRIES = range(6)
#: axes of two tables together
WIDEST = 64

_i8, _i8s = numba.int64, numba.int64[::1]
_graph = numba.types.NamedUniTuple(_i8s, len(Graph._fields), Graph)
_room = numba.types.NamedUniTuple(_i8s, len(Room._fields), Room)


@numba.njit(_i8(_graph, _room, _i8s, _i8s, _i8s, numba.boolean, _i8), nogil=True, cache=True, error_model="numpy")
def plan_question(graph, room, code, targets, evidence, keep_total, most):  # type: ignore[no-untyped-def]
    """Records for Σ over what is neither asked for nor observed; 0, or 1 where that is not easy.

    most : products formed in an easy question
    """
    sizes, order, scope_at, scopes, strides, offsets, law_at, laws = graph
    slot, rank, count, mark, kept, at, length, offset, size, axes, steps, live, bucket, roots, loops, info = room
    n, given = sizes.size, offsets.size
    for v in range(n):
        slot[v] = -1
        count[v] = mark[v] = 0
        rank[order[v]] = v
    for k in range(targets.size):
        rank[targets[k]] = n + k
    for k in range(evidence.size):
        slot[evidence[k]] = k

    # leave out tables that sum to 1 over a variable that no other holds
    for i in range(scopes.size):
        count[scopes[i]] += 1
    for t in range(given):
        kept[t] = 1
    changed = True
    while changed:
        changed = False
        for t in range(given - 1, -1, -1):
            barren = False
            for i in range(law_at[t], law_at[t + 1]):
                v = laws[i]
                barren |= count[v] == 1 and slot[v] < 0 and rank[v] < n
            for i in range(scope_at[t], scope_at[t + 1]):  # no target must be left without a table
                barren &= count[scopes[i]] > 1 or rank[scopes[i]] < n
            if barren and kept[t] == 1:
                kept[t] = 0
                changed = True
                for i in range(scope_at[t], scope_at[t + 1]):
                    count[scopes[i]] -= 1
    # and those that no chain of hidden variables joins to a target or to evidence
    changed = not keep_total and targets.size > 0
    if changed:
        for k in range(targets.size):
            mark[targets[k]] = 1
    while changed:
        changed = False
        for t in range(given):
            if kept[t] != 1:
                continue
            met = False
            for i in range(scope_at[t], scope_at[t + 1]):
                met |= mark[scopes[i]] == 1 or slot[scopes[i]] >= 0
            if met:
                kept[t] = 2
                changed = True
                for i in range(scope_at[t], scope_at[t + 1]):
                    mark[scopes[i]] = 1
    least = 1 if keep_total or targets.size == 0 else 2

    # axes that are not observed, by rank
    for v in range(n):
        count[v] = mark[v] = 0
    top = n_live = 0
    for t in range(given):
        kept[t] = int(kept[t] >= least)
        begin, entries = top, 1
        for i in range(scope_at[t], scope_at[t + 1]):
            v = scopes[i]
            if kept[t] == 0 or slot[v] >= 0:
                continue
            j = top
            while j > begin and rank[axes[j - 1]] > rank[v]:
                axes[j] = axes[j - 1]
                steps[j] = steps[j - 1]
                j -= 1
            axes[j] = v
            steps[j] = strides[i]
            top += 1
            entries *= sizes[v]
            count[v] += 1
        at[t] = begin
        length[t] = top - begin
        offset[t] = offsets[t]
        size[t] = entries
        if top > begin:
            live[n_live] = t
            n_live += 1

    pc = formed = n_roots = marks = total = 0
    work, turn, last = 1, -given, -1
    while True:
        # the next two tables to multiply; the second −1 where one is summed alone
        a = b = -1
        if turn < 0:  # all its variables are observed: a number
            a = turn + given
            turn += 1
            if kept[a] == 0 or length[a] > 0:
                continue
        else:
            v = order[turn] if turn < n else -1
            if turn < n and (count[v] == 0 or rank[v] >= n):
                turn += 1
                continue
            m = 0
            for k in range(n_live):
                t = live[k]
                holds = v < 0
                for i in range(at[t], at[t] + length[t]):
                    holds |= axes[i] == v
                if holds:  # by size
                    j = m
                    while j > 0 and size[bucket[j - 1]] > size[t]:
                        bucket[j] = bucket[j - 1]
                        j -= 1
                    bucket[j] = t
                    m += 1
            if m == 1:
                a = bucket[0]
                if v < 0 and a == last:
                    break
            elif m == 0:
                last = -1
                break
            best = best_left = np.inf
            for i in range(m if m <= 8 else 1):  # of many, the smallest and its best partner
                one = bucket[i]
                marks += 1
                for k in range(at[one], at[one] + length[one]):
                    mark[axes[k]] = marks
                for j in range(i + 1, min(m, i + 65)):
                    two = bucket[j]
                    grown, common = float(size[one]), 0
                    for k in range(at[two], at[two] + length[two]):
                        if mark[axes[k]] == marks:
                            common += 1
                        else:
                            grown *= sizes[axes[k]]
                    # of equal products the one that rids us of the larger tables
                    left = -float(size[one]) * size[two]
                    if grown < best or (grown == best and left < best_left):
                        best = grown
                        best_left = left
                        a = one
                        b = two
                        shared = common
            # sum first what only one of the two holds, where the other would make that larger
            for side in range(2):
                mine, other = (a, b) if side == 0 else (b, a)
                if b >= 0 and shared < length[other]:
                    for k in range(at[mine], at[mine] + length[mine]):
                        if count[axes[k]] == 1 and rank[axes[k]] < n:
                            a = mine
                            b = -1
                            break

        out = given + formed
        i, end_i, j, end_j = at[a], at[a] + length[a], 0, 0
        if b >= 0:
            j, end_j = at[b], at[b] + length[b]
        width = end_i - i + end_j - j
        if width > WIDEST - 2 or top + width > axes.size or out >= at.size:
            return 1
        # the record, loops first: those that meet evenly are one; far steps through the result, then what is summed
        product, n_gone, n_left = 1.0, 0, 0
        while i < end_i or j < end_j:
            p = q = held = 0
            v = axes[i] if j >= end_j or (i < end_i and rank[axes[i]] <= rank[axes[j]]) else axes[j]
            if i < end_i and axes[i] == v:
                p = steps[i]
                held += 1
                i += 1
            if j < end_j and axes[j] == v:
                q = steps[j]
                held += 1
                j += 1
            product *= sizes[v]
            count[v] -= held
            if count[v] == 0 and rank[v] < n:
                k = WIDEST + n_gone
                n_gone += 1
            else:
                k = n_left
                n_left += 1
                count[v] += 1
                axes[top + k] = v
            loops[4 * k] = sizes[v]
            loops[4 * k + 1] = p
            loops[4 * k + 2] = q
            loops[4 * k + 3] = 0
        if total + product > most:
            return 1
        total += int(product)
        entries = 1
        for k in range(n_left - 1, -1, -1):
            steps[top + k] = loops[4 * k + 3] = entries
            entries *= loops[4 * k]
        first = pc + HEAD
        if first + 4 * (width + 2) + 2 * scopes.size > code.size:
            return 1
        code[first] = 1  # an idle one, as the kernel expects two at least
        code[first + 1] = code[first + 2] = code[first + 3] = 0
        put = first + 4
        far = max(0, n_left - 2)
        for k in range(n_left + n_gone):
            row = 4 * (k if k < far else WIDEST + k - far if k < far + n_gone else k - n_gone)
            states = loops[row]
            if states == 1:
                continue
            p, q, r = loops[row + 1], loops[row + 2], loops[row + 3]
            even = code[put - 3] == states * p and code[put - 2] == states * q and code[put - 1] == states * r
            if put > first + 4 and even:
                put -= 4
                states *= code[put]
            code[put] = states
            code[put + 1] = p
            code[put + 2] = q
            code[put + 3] = r
            put += 4
        if put == first + 4:
            code[put] = 1
            code[put + 1] = code[put + 2] = code[put + 3] = 0
            put += 4
        code[pc + 13] = (put - first) // 4
        if code[put - 3] == 0 and code[put - 2] == 1:  # the kernel expects the dense one first
            for k in range(first, put, 4):
                p = code[k + 1]
                code[k + 1] = code[k + 2]
                code[k + 2] = p
            t = a
            a = b
            b = t
        for side in range(2):
            t = a if side == 0 else b
            begin = put
            if 0 <= t < given:
                for i in range(scope_at[t], scope_at[t + 1]):
                    if slot[scopes[i]] >= 0:
                        code[put] = slot[scopes[i]]
                        code[put + 1] = strides[i]
                        put += 2
            code[pc + 14 + side] = (put - begin) // 2
            code[pc + 2 + 3 * side] = int(t < 0 or t >= given)
            code[pc + 3 + 3 * side] = offset[t] if t >= 0 else 0
            code[pc + 4 + 3 * side] = t - given if t >= given else -1
        code[pc] = put - pc
        code[pc + 1] = code[pc + 16] = 0
        code[pc + 8] = work
        code[pc + 9] = entries
        code[pc + 10] = out - given
        code[pc + 11] = code[pc + 12] = 1
        pc = put

        k = 0
        for i in range(n_live):
            if live[i] != a and live[i] != b:
                live[k] = live[i]
                k += 1
        n_live = k
        at[out] = top
        length[out] = n_left
        offset[out] = work
        size[out] = entries
        top += n_left
        work += entries
        formed += 1
        last = out
        if n_left > 0:
            live[n_live] = out
            n_live += 1
        else:
            roots[n_roots] = offset[out]
            n_roots += 1

    i = 0
    while i < pc:  # the tables given share the last of the numbers
        for k in range(4, 8, 3):
            if code[i + k] < 0:
                code[i + k] = formed
        i += code[i]
    info[CODE] = pc
    info[FORMED] = formed
    info[SIZE] = work
    info[ROOTS] = n_roots
    info[LAST] = last
    info[ENTRIES] = total
    return 0
