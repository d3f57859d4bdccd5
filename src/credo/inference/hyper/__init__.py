"""Integration over one, two or three hyperparameters by lattices that grow until they are fine and wide enough.

`integrate`  mode, whitening, lattices and their error estimate; the only call an engine's user needs
`mode`       where the density peaks and how wide it is there
`lattice`    nested lattices, flooded from the mode outwards
`surrogate`  a polynomial in place of a density that takes long
`tents`, `splines`  a density between nodes: what proposals come from, and what a costly one is drawn by
`posterior`  `LatticePosterior`: nodes, weights, moments, independent draws
"""

from credo.inference.hyper.integrate import integrate
from credo.inference.hyper.posterior import LatticePosterior

__all__ = ["LatticePosterior", "integrate"]
