# SPDX-License-Identifier: Apache-2.0
"""Scales, ticks, and the marks of figures."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import pytest

from slowpath.report.draw import Drawing, Scale, powers_of_two, scale_of, tick_words
from slowpath.report.figure import Axis, Band, Mark, Matrix, Plot, Point, Quantity, Row, Rows, Series, Square, times


def of_class(drawn: object, name: str) -> list[ElementTree.Element]:
    """Elements with this word in their class."""
    return [
        element for element in ElementTree.fromstring(str(drawn)).iter() if name in (element.get("class") or "").split()
    ]


def paths(drawn: object, name: str) -> list[str]:
    return [element.get("d") or "" for element in of_class(drawn, name)]


def track(row: Row, x: Axis) -> str:
    _, (drawn,) = Drawing().rows(Rows("t", "", x, [row], height=100))
    return str(drawn)


LINEAR = Axis("time", log=False, ends=(0.0, 4.0))


def test_scale_is_logarithmic_and_holds_its_ends() -> None:
    scale = Scale(1e-6, 1e-2, log=True)
    assert scale(1e-4) == pytest.approx(50)
    assert scale(1e-9) == pytest.approx(0)
    assert scale(1.0) == pytest.approx(100)


@pytest.mark.parametrize("low", [1.3e-9, 2e-7, 0.9, 5.5e3])
@pytest.mark.parametrize("span", [1.01, 1.1, 1.6, 3, 9, 40, 1e3, 1e7])
def test_ticks_are_on_the_axis_and_few(low: float, span: float) -> None:
    ticks = Scale(low, low * span, log=True).ticks(6)
    assert 1 <= len(ticks) <= 6
    assert ticks == sorted(ticks)
    assert all(low * (1 - 1e-9) <= tick <= low * span * (1 + 1e-9) for tick in ticks)
    assert all(a != b for a, b in itertools.pairwise(ticks))


def test_an_axis_skips_what_has_no_logarithm() -> None:
    assert scale_of(Axis(), [None, 0.0, -1.0, float("nan"), float("inf")], 0, 100, 1.0) is None
    scale = scale_of(Axis(), [None, 2.0, 8.0], 0, 100, 1.0)
    assert scale is not None
    assert (scale.low, scale.high) == (2.0, 8.0)


def test_powers_of_two_are_thinned() -> None:
    assert powers_of_two(8, 1024, 10) == [8, 16, 32, 64, 128, 256, 512, 1024]
    assert len(powers_of_two(8, 1 << 24, 5)) <= 5


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [(1e-5, "s", "10 us"), (0.0, "s", "0"), (65536, "B", "64 KiB"), (0.5, "%", "50 %"), (2.0, "×", "2×"),
     (64, "", "64"),
     (2e7, "1/s", "20 M/s")],
)  # fmt: skip
def test_ticks_are_in_their_unit(value: float, unit: str, words: str) -> None:
    assert tick_words(value, unit) == words


def test_a_ratio_axis_always_marks_one() -> None:
    for ratios in ([1.01], [126.0], [0.002, 3.0]):
        rows = [Row("r", [Mark("dot", "slower", (ratio,))]) for ratio in ratios]
        axis, _ = Drawing().rows(Rows("t", "", Axis("ratio", "×", ends=(1.0,), least=1.6), rows))
        assert ">1×<" in str(axis)


def test_bars_follow_one_another_on_one_axis() -> None:
    drawn = track(Row("r", [Mark("bar", "s1", (0.0, 1.0)), Mark("bar", "s2", (1.0, 4.0))]), LINEAR)
    assert paths(drawn, "s1") == ["M0 20H250V80H0z"]
    assert paths(drawn, "s2") == ["M250 20H1000V80H250z"]


def test_a_row_fills_as_its_shares_say() -> None:
    """Half of the first quarter waits, then nothing is kept, then a tenth moves bytes."""
    marks = [Mark("area", "computing", (0, 1, 1.0, 2, 4, 1.0)), Mark("area", "s2", (0, 1, 0.5, 2, 4, 0.1)),
             Mark("hatch", "", (1, 2))]  # fmt: skip
    drawn = track(Row("0", marks), LINEAR)
    assert paths(drawn, "computing") == ["M0 100V0H250V100zM500 100V0H1000V100z"]
    assert paths(drawn, "s2") == ["M0 100V50H250V100zM500 100V90H1000V100z"]
    assert paths(drawn, "hatch") == ["M250 0H500V100H250z"]


def test_launches_are_dots_over_the_interval_of_their_centre() -> None:
    row = times("slow", "as it is", [1.0, 1.1, 1.2], Quantity(1.1, "s", (1.0, 1.2)))
    drawn = track(row, Axis("time"))
    assert [path.count("M") for path in paths(drawn, "dots")] == [3]
    assert len(paths(drawn, "reach")) == len(paths(drawn, "tick")) == 1
    assert "as it is: 1.10 s" in drawn
    many = times("slow", "many", [1 + n / 1000 for n in range(1000)], Quantity(1.5))
    assert [path.count("M") for path in paths(track(many, Axis("time")), "dots")] == [40]


def test_a_curve_has_a_whisker_for_each_interval() -> None:
    points = [Point(8.0**n, 1e-6 * n, (0.9e-6 * n, 1.1e-6 * n) if n > 1 else None) for n in (1, 2, 3)]
    plot = Plot("Latency", "", Axis("length", "B"), Axis("time"), [Series("small", points)], [Band(8, 64, "a limit")])
    drawn = Drawing().plot(plot)
    assert sum(path.count("M") for path in paths(drawn, "whisker")) == 2
    assert len(of_class(drawn, "point")) == 3
    assert len(of_class(drawn, "limit")) == 1
    assert "Marked: a limit." in str(drawn)


def test_nothing_is_drawn_without_values() -> None:
    for points in ([], [Point(8, 0.0)]):
        assert Drawing().plot(Plot("t", "", Axis("x", ""), Axis("time"), [Series("a", points)])) is None
    axis, tracks = Drawing().rows(Rows("t", "", Axis(), [Row("r", [])]))
    assert (axis, [str(track) for track in tracks]) == (None, [""])


def test_a_matrix_frames_and_names() -> None:
    squares = {(0, 1): Square(0.5, "2×", True), (1, 0): Square(0.1)}
    drawn = Drawing().matrix(Matrix("m", "", ["<a>", "b"], squares, "Slow: b.", "slower"))
    assert len(of_class(drawn, "marked")) == 1
    assert {element.get("fill-opacity") for element in of_class(drawn, "square")} == {"0.50", "0.10"}
    assert "<a>" not in str(drawn)
    assert re.search("Slow: b.", str(drawn))
