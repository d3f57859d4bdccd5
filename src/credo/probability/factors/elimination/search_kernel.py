"""The search for a better elimination order, compiled. Importing this module compiles (then caches) it.

Greedy orders with noise in their scores, some of them from the middle of the best order on: a score here takes some
50 ns, so that a hard graph sees hundreds of orders in the time in which Python finds a few.

Reference: Kask, Gelfand, Otten and Dechter (2011), Pushing the power of stochastic greedy ordering schemes for
inference in graphical models, AAAI (random ties, orders given up early).
"""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["search"]

U = np.uint64
ONE = U(1)
# Orders come in turns of this many: the first of a turn is a new one, the others share the best one's beginning.
TURN = 4

_i8, _f8, _u8 = numba.int64, numba.float64, numba.uint64
_i8s, _f8s, _u8s = _i8[::1], _f8[::1], _u8[::1]
_i8t, _u8t = _i8[:, ::1], _u8[:, ::1]


@numba.njit(_u8(_u8), nogil=True, cache=True)
def count_bits(x):  # type: ignore[no-untyped-def]
    x = x - ((x >> ONE) & U(0x5555555555555555))
    x = (x & U(0x3333333333333333)) + ((x >> U(2)) & U(0x3333333333333333))
    return (((x + (x >> U(4))) & U(0x0F0F0F0F0F0F0F0F)) * U(0x0101010101010101)) >> U(56)


@numba.njit(
    _i8(_u8t, _u8t, _f8s, _i8s, _i8s, _f8s, _i8t, _f8s, _i8, _f8, _f8, numba.boolean),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def search(graph, near, states, group, order, score, pool, totals, effort, patience, easy, weighted):  # type: ignore[no-untyped-def]
    """Fill `pool` (orders, m) with the best orders found, and `totals` with their entries, best first; how many.

    graph, near (n, words) : who shares a table with whom, a bit each; room to work ; states (n,)
    group (n,) : 0 stays, those of 1 go before those of 2 ; order (m,), score (n,) : room to work
    effort, patience : scores to compute, and for each entry of the best ; easy : entries below which it ends
    weighted : whether variables differ in their states

    The first orders are those of min-fill, min-weight and weighted min-fill, without noise.
    """
    n, words = near.shape
    m = order.size
    found = computed = turn = 0
    rules = 3 if weighted else 2
    random = U(88172645463325252)
    for k in range(totals.size):
        totals[k] = math.inf
    while True:
        if turn >= rules:
            most = min(float(effort), patience * totals[0])
            if totals[0] <= easy or computed >= most:
                return found
        random ^= random << U(13)
        random ^= random >> U(7)
        random ^= random << U(17)
        # min-fill most often wins; the noise lets nearly equal candidates pass each other
        rule, noise, same = turn, 0.0, 0
        if turn >= rules:
            draw = int(random >> U(60))
            rule = 0 if draw < 8 else 1 if draw < 12 else rules - 1
            noise = 0.02 * float(ONE << ((random >> U(50)) & U(3)))
            if turn % TURN != 0:
                same = int((random >> U(16)) % U(m))
        turn += 1
        for v in range(n):
            score[v] = -1.0
            for w in range(words):
                near[v, w] = graph[v, w]
        # worth the while if it comes to be one of the pool, or nearly the best
        bar = min(totals[-1], 1.5 * totals[0])
        entries, of = 0.0, 1
        place = 0
        while place < m:
            v = -1
            if place < same:
                v = pool[0, place]
                of = group[v]
            while v < 0:
                for u in range(n):
                    if group[u] != of:
                        continue
                    if score[u] < 0.0:
                        computed += 1
                        value = math.log2(states[u]) if rule == 1 else 0.0
                        for w in range(words):
                            rest = near[u, w]
                            while rest != U(0):
                                low = rest & (~rest + ONE)
                                rest ^= low
                                x = 64 * w + int(count_bits(low - ONE))
                                if rule == 1:
                                    value += math.log2(states[x])
                                    continue
                                for k in range(words):
                                    missing = near[u, k] & ~near[x, k]
                                    if rule == 0:
                                        value += float(count_bits(missing))
                                        continue
                                    while missing != U(0):
                                        bit = missing & (~missing + ONE)
                                        missing ^= bit
                                        value += states[x] * states[64 * k + int(count_bits(bit - ONE))]
                                value -= 1.0 if rule == 0 else states[x] * states[x]
                        if noise > 0.0:
                            random ^= random << U(13)
                            random ^= random >> U(7)
                            random ^= random << U(17)
                            draw_a = float(random >> U(32)) / 4294967296.0
                            draw_b = float(random & U(0xFFFFFFFF)) / 4294967296.0
                            value = value * (1.0 + noise * draw_a) + 3.0 * noise * draw_b
                        score[u] = max(value, 0.0)
                    if v < 0 or score[u] < score[v]:
                        v = u
                if v < 0:
                    of += 1
            order[place] = v
            place += 1
            # its neighbours become each other's
            group[v] = -of
            size = states[v]
            for w in range(words):
                rest = near[v, w]
                while rest != U(0):
                    low = rest & (~rest + ONE)
                    rest ^= low
                    u = 64 * w + int(count_bits(low - ONE))
                    size *= states[u]
                    for k in range(words):
                        near[u, k] |= near[v, k]
                    near[u, w] &= ~low
                    near[u, v >> 6] &= ~(ONE << U(v & 63))
            entries += size
            if entries >= bar:
                break
            # scores to compute again: theirs, and where fill counts also those of who sees two of them
            for u in range(n) if place >= same else range(0):
                touched = (near[v, u >> 6] >> U(u & 63)) & ONE != U(0)
                if not touched and rule != 1 and group[u] == of and score[u] >= 0.0:
                    met = U(0)
                    for k in range(words):
                        met += count_bits(near[u, k] & near[v, k])
                    touched = met > U(1)
                if touched:
                    score[u] = -1.0
        for u in range(n):
            group[u] = abs(group[u])
        fresh = entries < bar
        for k in range(found):
            fresh &= totals[k] != entries
        if fresh:
            k = min(found, totals.size - 1)
            found = min(found + 1, totals.size)
            while k > 0 and totals[k - 1] > entries:
                totals[k] = totals[k - 1]
                for i in range(m):
                    pool[k, i] = pool[k - 1, i]
                k -= 1
            totals[k] = entries
            for i in range(m):
                pool[k, i] = order[i]
