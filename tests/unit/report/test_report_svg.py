# SPDX-License-Identifier: Apache-2.0
"""Scales, ticks, labels, and the writer of elements."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest

from slowpath.report.svg import contrast_forest, sides, size_curves
from slowpath.report.svg.contrast_forest import DrawnRatio
from slowpath.report.svg.element import element, picture
from slowpath.report.svg.plot import spread_apart
from slowpath.report.svg.scale import LogScale, powers_of_two, spanning
from slowpath.report.svg.size_curves import SizeCurve, SizePoint
from support.results import a_contrast


def test_scale_is_logarithmic_and_holds_its_ends() -> None:
    scale = LogScale(1e-6, 1e-2)
    assert scale(1e-4) == pytest.approx(50)
    assert scale(1e-9) == pytest.approx(0)
    assert scale(1.0) == pytest.approx(100)


@pytest.mark.parametrize("low", [1.3e-9, 2e-7, 0.9, 5.5e3])
@pytest.mark.parametrize("span", [1.01, 1.1, 1.6, 3, 9, 40, 1e3, 1e7])
def test_ticks_are_on_the_axis_and_few(low: float, span: float) -> None:
    ticks = LogScale(low, low * span).ticks(6)
    assert 1 <= len(ticks) <= 6
    assert ticks == sorted(ticks)
    assert all(low * (1 - 1e-9) <= tick <= low * span * (1 + 1e-9) for tick in ticks)
    assert all(a != b for a, b in itertools.pairwise(ticks))


def test_spanning_skips_what_has_no_logarithm() -> None:
    assert spanning([None, 0.0, -1.0, float("nan"), float("inf")]) is None
    low, high = spanning([None, 2.0, 8.0], margin=1.0) or (0, 0)
    assert (low, high) == (2.0, 8.0)


def test_powers_of_two_are_thinned() -> None:
    assert powers_of_two(8, 1024, 10) == [8, 16, 32, 64, 128, 256, 512, 1024]
    assert len(powers_of_two(8, 1 << 24, 5)) <= 5


def test_element_escapes() -> None:
    made = ElementTree.fromstring(element("text", "&lt;", x='"<&>', class_="a"))
    assert made.get("x") == '"<&>'
    assert made.get("class") == "a"
    ElementTree.fromstring(picture("", "</title><script>", "&", height=10))


def test_labels_are_spread_apart_within_bounds() -> None:
    places = spread_apart([50, 52, 51, 10], 15, 0, 100)
    assert all(b - a >= 15 - 1e-9 for a, b in itertools.pairwise(sorted(places)))
    assert places[0] < places[2] < places[1]
    assert spread_apart([100, 100], 15, 0, 100) == [85, 100]


def test_forest_always_shows_one() -> None:
    for ratios in ([1.01], [126.0], [0.002, 3.0]):
        scale = contrast_forest.scale_of([DrawnRatio("b against a", ratio, None, "slower", 0.03) for ratio in ratios])
        assert 1.0 in contrast_forest.ticks_of(scale)
        assert scale.low < 1 < scale.high


def test_pairs_draw_a_line_for_each() -> None:
    drawn = sides.pairs_chart(a_contrast(pairs=((1e-3, 2e-3), (1.1e-3, 2.1e-3))))
    assert drawn is not None
    path = next(e for e in ElementTree.fromstring(drawn).iter() if (e.get("class") or "").startswith("pair"))
    assert (path.get("d") or "").count("M") == 2
    assert sides.pairs_chart(a_contrast(pairs=())) is None


def test_curve_has_a_whisker_for_each_interval() -> None:
    points = tuple(SizePoint(8**n, 1e-6 * n, (0.9e-6 * n, 1.1e-6 * n) if n > 1 else None) for n in (1, 2, 3))
    drawn = size_curves.chart([SizeCurve("small", points)], "s", "Latency")
    assert drawn is not None
    root = ElementTree.fromstring(drawn)
    classes = [e.get("class") or "" for e in root.iter()]
    assert sum(name.startswith("whisker") for name in classes) == 2
    assert sum(name.startswith("point") for name in classes) == 3
    assert "small" in "".join(root.itertext())
    assert size_curves.chart([], "s", "Latency") is None
