"""One sweep of collapsed variational Bayes over stored cells, compiled; imported only where it is asked for."""

from __future__ import annotations

import numba

__all__ = ["sweep_cells"]

_f8, _i4 = numba.float64, numba.int32
_index, _vector, _matrix = _i4[::1], _f8[::1], _f8[:, ::1]

# Rounding must not make a count with a token taken out negative.
_TINY = 1e-100


@numba.njit(
    numba.void(_index, _index, _index, _vector, _matrix, _matrix, _matrix, _vector, numba.boolean, numba.int64, _f8,
               _vector, _vector),
    nogil=True,
    cache=True,
    error_model="numpy",
    fastmath={"contract", "reassoc"},
)  # fmt: skip
def sweep_cells(outer, starts, inner, counts, gamma, left, right, total, held, most, tolerance, moved, room):
    """γ_z ∝ left_z right_z / total_z of every cell, its counts without one of its tokens, each cell after the other.

    outer, starts, inner, counts : cells in runs, as in `cells.Cells`
    gamma (cells, K) : shares of a cell's tokens ; left, right : counts with their priors, by outer and inner index;
        total (K,) : Σ of the words' ; all follow γ, but where `held`, for known topics: then only `left` does
    most, tolerance : a run is gone through `most` times, or until no more than this share of its tokens moves
    moved (runs,) : tokens that moved in a run's last round ; room (K,)
    """
    k = gamma.shape[1]
    for run in range(outer.size):
        mine = left[outer[run]]
        for _ in range(most):
            change, size = 0.0, 0.0
            for at in range(starts[run], starts[run + 1]):
                share, other, count = gamma[at], right[inner[at]], counts[at]
                token = min(count, 1.0)
                away = 0.0 if held else token
                norm = 0.0
                for z in range(k):
                    g = share[z]
                    weight = max(mine[z] - token * g, _TINY) * max(other[z] - away * g, _TINY) / (total[z] - away * g)
                    room[z] = weight
                    norm += weight
                scale = 1.0 / norm
                for z in range(k):
                    new = room[z] * scale
                    step = count * (new - share[z])
                    share[z] = new
                    room[z] = step
                    mine[z] += step
                    change += abs(step)
                if not held:
                    for z in range(k):
                        other[z] += room[z]
                        total[z] += room[z]
                size += count
            moved[run] = 0.5 * change
            if moved[run] <= tolerance * size:
                break
