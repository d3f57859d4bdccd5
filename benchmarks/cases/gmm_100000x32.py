"""Wider rows, where the products of pairs of columns no longer pay."""

from __future__ import annotations

from benchmarks.gmm import case

CASE = case(rows=100_000, columns=32, components=16, steps=10, wanted=2.5)
