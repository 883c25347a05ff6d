# SPDX-License-Identifier: Apache-2.0
"""Cells, labels, keys and contrasts of small campaigns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from slowpath.core.engine_description import CellVerdict
from slowpath.core.errors import UsageError
from slowpath.core.plan import Cell, Plan
from slowpath.plan.expand import coordinates

ENVIRONMENTS = """
[[environment]]
name = "default"
[[environment]]
name = "no single copy"
setting = "single_copy_off"
[[environment]]
name = "network"
setting = "network_path"
[[placement]]
name = "bound"
[[placement]]
name = "unbound"
bind = "none"
"""
PAGES = """
[[cells]]
name = "fresh"
experiment = "p2p"
environment = ["default", "no single copy"]
[cells.parameters]
pattern = "one_way"
pages = ["huge", "small", "huge:small"]
message_bytes = "1MiB..16MiB*16"
"""


def contrast(**keys: str) -> str:
    table = {"name": "'x'", "question": "'?'", "cells": "'fresh'", "axis": "'pages'", "a": "'huge'",
             "b": "'small'", "metric": "'one_way_s'"} | keys  # fmt: skip
    return "[[contrast]]\n" + "".join(f"{key} = {value}\n" for key, value in table.items())


def test_every_combination_is_a_cell(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS + PAGES)
    assert len(plan.cells) == 2 * 3 * 2
    assert [cell.cell for cell in plan.cells] == list(range(12))
    assert {cell.parameters["message_bytes"] for cell in plan.cells} == {"1048576", "16777216"}
    assert plan.cells[0].parameters["touch"] == "write", "defaults are part of a cell"
    assert plan.cells[0].label == "1 MiB, pages huge, default"
    assert len({cell.label for cell in plan.cells}) == 12


def test_keys_tell_apart_what_differs_and_only_that(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS + PAGES)
    keys = [cell.key for cell in plan.cells]
    assert len(set(keys)) == 12
    assert all(len(key) == 16 for key in keys)
    assert keys == [cell.key for cell in plan_of(ENVIRONMENTS + PAGES, seed=2, rounds=3).cells]
    for changed in (plan_of(ENVIRONMENTS + PAGES, mpi="other"), plan_of(ENVIRONMENTS + PAGES, ranks=4)):
        assert set(keys).isdisjoint(cell.key for cell in changed.cells)
    named = plan_of((ENVIRONMENTS + PAGES).replace("fresh", "other").replace("no single copy", "off"))
    assert keys == [cell.key for cell in named.cells], "names are not part of what a cell is"


def test_sides_of_a_contrast_differ_in_its_axis_alone(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS + PAGES + contrast(b="['small', 'huge:small']"))
    assert len(plan.contrasts) == 2 * 2 * 2
    for made in plan.contrasts:
        a, b = coordinates(plan.cells[made.a.cell]), coordinates(plan.cells[made.b.cell])
        assert [axis for axis in a if a[axis] != b[axis]] == ["pages"]
        assert (made.a.value, made.a.phase) == ("huge", "steady")
        assert made.a.value == a["pages"]
        assert made.b.value == b["pages"]
    assert len({made.id for made in plan.contrasts}) == 8


def test_where_environment_copy_and_phase(plan_of: Callable[..., Plan]) -> None:
    where = contrast(where="{ message_bytes = '16MiB', environment = 'default' }")
    assert len(plan_of(ENVIRONMENTS + PAGES + where).contrasts) == 1
    along = contrast(axis="'environment'", a="'default'", b="'no single copy'")
    assert len(plan_of(ENVIRONMENTS + PAGES + along).contrasts) == 6
    phases = plan_of(ENVIRONMENTS + PAGES + contrast(axis="'phase'", a="'steady'", b="'first'")).contrasts
    assert len(phases) == 12
    assert all(c.a.cell == c.b.cell and (c.a.phase, c.b.phase) == ("steady", "first") for c in phases)
    copies = PAGES.replace("[cells.parameters]", "copies = 3\n[cells.parameters]")
    assert len(plan_of(ENVIRONMENTS + copies + contrast(axis="'copy'", a="1", b="[2, 3]")).contrasts) == 24
    first = plan_of(ENVIRONMENTS + PAGES + contrast(phase="'first'")).contrasts
    assert {c.b.phase for c in first} == {"first"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("pages =", "page ="), "key parameters.page: experiment p2p has no parameter 'page'; did you mean 'pages'?"),
        (('"huge",', '"hug",'), "'hug' is not one of default, small, huge, shared; did you mean 'huge'?"),
        (('"huge:small"', '"huge:small:huge"'), "3 sides"),
        (('"huge:small"', '"small:small"'), "is listed twice"),
        (("pattern =", "messages = 0\npattern ="), "too small; messages begins at 1"),
        (("pattern =", "messages = true\npattern ="), "'on' is not a whole number"),
        (("pattern =", "samples = '8:9'\npattern ="), "has two sides but samples has one value"),
        (("1MiB..16MiB*16", "1MB"), "key parameters.message_bytes: '1MB' is not a number of bytes"),
        (("1MiB..16MiB*16", "1MiB:2MiB..3MiB+1"), "range with two sides"),
        (('"p2p"', '"p2"'), "key experiment: the engine has no experiment 'p2'; did you mean 'p2p'?"),
        (('"no single copy"]', '"no singel copy"]'), "no environment 'no singel copy'; did you mean"),
        (('"no single copy"]', '"default"]'), "is listed twice"),
        (("1MiB..16MiB*16", "0..99999+1"), "the limit is 100000"),
        (("pattern =", "buffer_bytes = 'massage'\npattern ="), "did you mean 'message'?"),
    ],
)  # fmt: skip
def test_wrong_cells(plan_of: Callable[..., Plan], change: tuple[str, str], expected: str) -> None:
    with pytest.raises(UsageError) as error:
        plan_of(ENVIRONMENTS + PAGES.replace(*change))
    assert expected in str(error.value)
    assert str(error.value).startswith("try.toml: [[cells]] 'fresh'")


def test_a_contrast_needs_cells_that_yield_its_metric(plan_of: Callable[..., Plan]) -> None:
    def check(cells: Sequence[Cell], ranks: int) -> dict[int, CellVerdict]:
        return {cell.cell: CellVerdict(cell.cell, metrics=("send_s", "receive_s")) for cell in cells}

    assert plan_of(ENVIRONMENTS + PAGES + contrast(metric="'send_s'"), check=check).contrasts
    with pytest.raises(UsageError, match=r"cell '.*' does not measure 'one_way_s', but send_s, receive_s"):
        plan_of(ENVIRONMENTS + PAGES + contrast(), check=check)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"axis": "'page'"}, "key axis: there is no axis 'page'; did you mean 'pages'?"),
        ({"b": "'shared'"}, "key b: no cell of 'fresh' has pages 'shared'"),
        ({"b": "'smal'"}, "key b: 'smal' is not one of"),
        ({"b": "'huge'"}, "key b: 'huge' is also a"),
        ({"a": "'huge,small'"}, "key a: has several values"),
        ({"metric": "'one_way'"}, "did you mean 'one_way_s'?"),
        ({"metric": "'bandwidth_bytes_per_s'"}, "is not a time; a contrast compares times"),
        ({"metric": "'half_round_trip_latency_s'"}, "only pattern=ping_pong measures"),
        ({"where": "{ message_bytes = '2MiB' }"}, "key where.message_bytes: no cell of 'fresh' has"),
        ({"where": "{ pages = 'huge' }"}, "is the axis itself"),
        ({"where": "{ message = '1MiB' }"}, "key where.message: there is no axis 'message'"),
        ({"axis": "'phase'", "a": "'steady'", "b": "'last'"}, "no cell of 'fresh' has phase 'last'"),
        ({"phase": "'later'"}, "key phase: 'later' is not one of steady, first"),
        ({"a": "[1]"}, "key a"),
        ({"control": "'yes'"}, "key control"),
    ],
)
def test_wrong_contrasts(plan_of: Callable[..., Plan], keys: dict[str, str], expected: str) -> None:
    with pytest.raises(UsageError) as error:
        plan_of(ENVIRONMENTS + PAGES + contrast(**keys))
    assert expected in str(error.value)
    assert str(error.value).startswith("try.toml: [[contrast]] 'x'")
