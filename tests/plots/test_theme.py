"""The palette keeps its promises: contrast, and roles that stay apart for every common kind of colour vision."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from credo.errors import ParameterError
from credo.plots.theme import ROLES, THEMES, colours, contrast

# Machado, Oliveira and Fernandes, IEEE TVCG 15 (2009): complete protan-, deuter- and tritanopia, in linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# CIE 1976 distance; some ten just noticeable differences keep thin marks apart.
APART = 18.0


def linear(colour: str) -> np.ndarray:
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0.0, 1.0) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_marks_stand_out(theme: str) -> None:
    palette = colours(theme)
    for role in set(ROLES) - {"grid"}:  # the grid may fade: every line of it has its number
        assert contrast(palette[role], palette["ground"]) >= 4.5, role


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_roles_stay_apart(theme: str, vision: str) -> None:
    seen = {
        r: lab(np.asarray(VISION[vision]) @ linear(colours(theme)[r]))
        for r in ("primary", "secondary", "tertiary", "muted")
    }
    for a, b in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[a] - seen[b]) >= APART, (a, b)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the grey just short of AA


def test_unknown_theme() -> None:
    with pytest.raises(ParameterError, match="'light', 'dark'"):
        colours("sepia")
