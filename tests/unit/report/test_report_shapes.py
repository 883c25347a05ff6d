# SPDX-License-Identifier: Apache-2.0
"""Pictures of the order of time: each message once, the slow ones apart, the tail down to the slowest."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from slowpath.core.results import Finding
from slowpath.report.cards.shapes import Group, ScatterAxes, scatter_chart, shape_pictures, tail_chart
from support.results import a_finding, results
from support.series import every, lottery, simulated


def dots(markup: str) -> dict[bool, int]:
    """Whether they are the slow ones -> how many dots."""
    found = re.findall(r'<path d="([^"]*)" class="dots [a-z]+( slower)?"', markup)
    return {bool(slow): path.count("M") for path, slow in found}


def of(rule: str) -> Finding:
    return replace(a_finding(), rule=rule, slow_cells=[0])


def test_a_stall_is_drawn_in_order_folded_and_as_a_tail() -> None:
    shapes = simulated({8: 1e-6}, every(64, 2e-4))[8]
    pictures = {name: drawing for name, drawing, _ in shape_pictures(of("SP026"), results(shapes=[shapes]))}
    assert list(pictures) == ["messages", "folded", "tail"]
    for name in ("messages", "folded"):
        assert dots(str(pictures[name])) == {False: 590, True: 9} or dots(str(pictures[name])) == {False: 589, True: 10}
    assert "place in the period of 64 messages" in str(pictures["folded"])
    assert ">10 %<" in str(pictures["tail"])


def test_launches_of_two_kinds_are_two_kinds_of_dots() -> None:
    kinds = lottery((8e-7, 7e-6), 2e-5, slow=(1, 2, 5, 9, 13, 14, 19))
    ((name, drawing, _),) = shape_pictures(of("SP029"), results(launch_kinds=kinds))
    assert name == "launches"
    assert dots(str(drawing)) == {False: 17, True: 7}


@pytest.mark.parametrize("rule", ["SP013", "SP026", "SP027", "SP029"])
def test_a_run_of_an_older_version_has_none(rule: str) -> None:
    assert shape_pictures(of(rule), results()) == []


def test_no_points_no_picture() -> None:
    assert scatter_chart([Group("message", (), False)], ScatterAxes("x", "y"), "t") is None
    assert tail_chart([], "x", "t") is None


def test_one_launch_is_a_picture() -> None:
    drawing = scatter_chart([Group("launch", ((3.0, 1e-6),), False)], ScatterAxes("x", "y"), "t")
    assert drawing is not None
    assert dots(str(drawing)) == {False: 1}
