"""Gaussian mixtures of the usual size."""

from __future__ import annotations

from benchmarks.gmm import case

CASE = case(rows=200_000, columns=8, components=8, steps=30, wanted=5)
