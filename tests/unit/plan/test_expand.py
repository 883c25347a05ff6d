# SPDX-License-Identifier: Apache-2.0
"""Cells, labels, keys and contrasts of small campaigns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from slowpath.cli.options import RANKS
from slowpath.core.engine_description import CellVerdict
from slowpath.core.errors import UsageError
from slowpath.core.plan import WITNESSED_ROUNDS, Cell, Plan, twins_of
from slowpath.plan import expand as expand_cells
from slowpath.plan.campaign import load
from slowpath.plan.cost import launch_seconds
from slowpath.plan.expand import MpiInUse, absent, coordinates, expand, short_names
from slowpath.record.plan_files import read_plan, write_plan

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
        (("pages =", "page ="), "key parameters.page: unknown parameter of p2p: 'page'; did you mean 'pages'?"),
        (('"huge",', '"hug",'), "unknown value of pages: 'hug'; did you mean 'huge'?"),
        (('"huge:small"', '"huge:small:huge"'), "is not a pair SENDER:RECEIVER"),
        (('"huge:small"', '"small:small"'), "is listed twice"),
        (("pattern =", "messages = 0\npattern ="), "'0' is not 1 or more"),
        (("pattern =", "messages = true\npattern ="), "'on' is not a whole number"),
        (("pattern =", "samples = '8:9'\npattern ="), "'8:9' is not one value"),
        (("1MiB..16MiB*16", "1MB"), "key parameters.message_bytes: '1MB' is not a number of bytes"),
        (("1MiB..16MiB*16", "1MiB:2MiB..3MiB+1"), "is not a range"),
        (('"p2p"', '"p2"'), "key experiment: unknown experiment: 'p2'; did you mean 'p2p'?"),
        (('"no single copy"]', '"no singel copy"]'), "unknown environment: 'no singel copy'; did you mean"),
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
    with pytest.raises(UsageError, match=r"unknown metric of cell '.*': 'one_way_s'; choose from: send_s, receive_s"):
        plan_of(ENVIRONMENTS + PAGES + contrast(), check=check)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"axis": "'page'"}, "unknown axis: 'page'; did you mean 'pages'?"),
        ({"b": "'shared'"}, "unknown cell of 'fresh' with pages: 'shared'"),
        ({"b": "'smal'"}, "key b: unknown value of pages: 'smal'"),
        ({"b": "'huge'"}, "'huge' is listed twice"),
        ({"a": "'huge,small'"}, "is not one value"),
        ({"metric": "'one_way'"}, "did you mean 'one_way_s'?"),
        ({"metric": "'bandwidth_bytes_per_s'"}, "unknown metric in seconds: 'bandwidth_bytes_per_s'"),
        ({"metric": "'half_round_trip_latency_s'"}, "only pattern=ping_pong measures"),
        ({"where": "{ message_bytes = '2MiB' }"}, "unknown cell of 'fresh' with message_bytes"),
        ({"where": "{ pages = 'huge' }"}, "unknown axis: 'pages'"),
        ({"where": "{ message = '1MiB' }"}, "unknown axis: 'message'"),
        ({"axis": "'phase'", "a": "'steady'", "b": "'last'"}, "unknown cell of 'fresh' with phase: 'last'"),
        ({"phase": "'later'"}, "key phase: unknown value: 'later'; choose from: steady, first"),
        ({"a": "[1]"}, "key a"),
        ({"control": "'yes'"}, "key control"),
    ],
)
def test_wrong_contrasts(plan_of: Callable[..., Plan], keys: dict[str, str], expected: str) -> None:
    with pytest.raises(UsageError) as error:
        plan_of(ENVIRONMENTS + PAGES + contrast(**keys))
    assert expected in str(error.value)
    assert str(error.value).startswith("try.toml: [[contrast]] 'x'")


# Several numbers of ranks in one campaign: placements, launches, keys, what is checked, and what is too few.


CANNON = '[[cells]]\nname = "c"\nexperiment = "cannon"\n[cells.parameters]\nn = 48\n'
P2P = '[[cells]]\nname = "p"\nexperiment = "p2p"\n'


def test_each_number_of_ranks_is_a_placement_of_its_own(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(CANNON, ranks=[4, 1, 2])
    assert (plan.ranks, plan.rank_counts) == (4, [1, 2, 4])
    assert [(p.name, p.ranks, p.of) for p in plan.placements] == [
        ("bound, 1 rank", 1, "bound"), ("bound, 2 ranks", 2, "bound"), ("bound, 4 ranks", 4, "bound")]  # fmt: skip
    assert [plan.ranks_of(cell.placement) for cell in plan.cells] == [1, 2, 4]
    assert len({cell.key for cell in plan.cells}) == 3
    for number in range(1, plan.rounds + 1):
        assert {plan.ranks_of(launch.placement) for launch in plan.launches if launch.round == number} == {1, 2, 4}
    assert len({round(seconds, 6) for seconds in launch_seconds(plan).values()}) == 3


def test_every_cell_is_judged_with_its_own_ranks(plan_of: Callable[..., Plan]) -> None:
    asked: list[tuple[list[str], int]] = []

    def check(cells: Sequence[Cell], ranks: int) -> dict[int, CellVerdict]:
        asked.append(([cell.placement for cell in cells], ranks))
        return {cell.cell: CellVerdict(cell.cell) for cell in cells}

    plan_of(CANNON, ranks=[1, 4], check=check)
    assert asked == [(["bound, 1 rank"], 1), (["bound, 4 ranks"], 4)]


def test_too_few_ranks_for_an_experiment_skip_its_cells_with_the_reason(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(P2P, ranks=[1, 2])
    assert [cell.skip for cell in plan.cells] == ["needs 2 ranks, not 1; set ranks = 2", None]


def test_the_scaling_campaign_has_strong_and_weak_curves(description: dict[str, Any]) -> None:
    campaign = load("cannon-scaling")
    plan = expand(campaign, description, [MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))], 1)
    assert plan.rank_counts == [1, 2, 4, 9, 16]
    orders = {int(cell.parameters["n"]) for cell in plan.cells}
    assert {192 * root for root in (1, 2, 3, 4)} == orders
    assert all(n % 12 == 0 for n in orders)


@pytest.mark.parametrize(("words", "counts"), [("4", (4,)), ("1,2, 4", (1, 2, 4))])
def test_ranks_of_the_command_line(words: str, counts: tuple[int, ...]) -> None:
    assert RANKS.convert(words, None, None) == counts


def test_a_cell_that_needs_more_ranks_is_one_whatever_its_reason_says(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    why = expand_cells._why_too_few

    def reworded(*given: Any) -> str | None:
        return why(*given) and "another sentence"

    monkeypatch.setattr(expand_cells, "_why_too_few", reworded)
    asked = list[int]()

    def check(cells: Sequence[Cell], ranks: int) -> dict[int, CellVerdict]:
        asked.extend(cell.cell for cell in cells)
        return {cell.cell: CellVerdict(cell.cell) for cell in cells}

    plan = plan_of(P2P, ranks=[1, 2], check=check)
    assert ([cell.skip for cell in plan.cells], asked) == (["another sentence", None], [1])
    with pytest.raises(UsageError, match="all cells are skipped: another sentence"):
        plan_of('[[cells]]\nname = "c"\nexperiment = "coll"\nparameters.members = [6, 16]\n', ranks=4)


# One campaign under several MPIs: names, environments, cells, launches and contrasts.
TEXT = """
[[environment]]
name = "default"
[[environment]]
name = "off"
setting = "single_copy_off"
[[environment]]
name = "tcp"
variables = { UCX_TLS = "tcp" }
[[cells]]
name = "c"
experiment = "p2p"
environment = "*"
[cells.parameters]
message_bytes = [8, 64]
[[cells]]
name = "d"
experiment = "p2p"
"""
ACROSS = '[[contrast]]\nname = "x"\nquestion = "?"\ncells = "c"\nmetric = "half_round_trip_latency_s"\n'


def switch(name: str) -> Callable[[str], tuple[dict[str, str], str | None]]:
    """Each library has a variable of its own, and intelmpi none."""
    return lambda setting: ({}, "no such switch") if name == "intelmpi" else ({name.upper(): "0"}, None)


def in_use(*names: str) -> list[MpiInUse]:
    return [MpiInUse(name, f"{name} 1", switch(name)) for name in names]


@pytest.fixture
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of(TEXT, mpis=in_use("mpich", "openmpi", "intelmpi"), rounds=4)


@pytest.mark.parametrize(
    ("libraries", "identities", "expected"),
    [
        (["mpich", "openmpi"], ["mpich 5", "openmpi 5"], ["mpich", "openmpi"]),
        (["mpich", "openmpi", "mpich"], ["mpich 5", "openmpi 5", "mpich 4"], ["mpich 5", "openmpi", "mpich 4"]),
        (["mpich", "mpich"], ["mpich 5", "mpich 5"], ["mpich 5", "mpich 5 (2)"]),
    ],
)
def test_short_names(libraries: list[str], identities: list[str], expected: list[str]) -> None:
    assert short_names(libraries, identities) == expected


def test_each_mpi_has_every_cell(plan: Plan, plan_of: Callable[..., Plan]) -> None:
    assert [mpi.name for mpi in plan.mpis] == ["mpich", "openmpi", "intelmpi"]
    assert [cell.cell for cell in plan.cells] == list(range(3 * 7))
    seen: set[str] = set()
    for name in ("mpich", "openmpi", "intelmpi"):
        alone = plan_of(TEXT, mpis=in_use(name))
        assert [cell.key for cell in plan.cells if cell.mpi == name] == [cell.key for cell in alone.cells]
        assert {cell.mpi for cell in alone.cells} == {name}
        keys = {cell.key for cell in alone.cells}
        assert seen.isdisjoint(keys)
        seen |= keys


def test_a_setting_is_resolved_for_each_mpi(plan: Plan, plan_of: Callable[..., Plan]) -> None:
    assert plan.environment("off", "mpich").variables == {"MPICH": "0"}
    assert plan.environment("off", "openmpi").variables == {"OPENMPI": "0"}
    assert plan.environment("off", "intelmpi").unavailable == "no such switch"
    assert plan.environment("tcp", "openmpi").mpi is None, "variables hold for all alike"
    assert [e.name for e in plan.environments] == ["default", "off", "off", "off", "tcp"]
    with pytest.raises(KeyError):
        plan.environment("on", "mpich")
    skipped = [cell for cell in plan.cells if cell.skip]
    assert {(cell.mpi, cell.environment) for cell in skipped} == {("intelmpi", "off")}
    assert skipped[0].skip == "environment off under intelmpi: no such switch"
    assert [e.mpi for e in plan_of(TEXT, mpis=in_use("mpich")).environments] == [None] * 3


def test_a_round_starts_each_mpi_and_environment_once_in_random_order(plan: Plan) -> None:
    by_number = {cell.cell: cell for cell in plan.cells}
    blocks = [[launch for launch in plan.launches if launch.round == number] for number in range(1, 5)]
    for block in blocks:
        runs = sorted(number for launch in block for number in launch.cells)
        assert runs == [cell.cell for cell in plan.cells if cell.skip is None], "each cell once a round"
        for launch in block:
            assert {by_number[number].mpi for number in launch.cells} == {launch.mpi}
    orders = {tuple(launch.mpi for launch in block) for block in blocks}
    assert len(orders) > 1
    assert any(launch.mpi != "mpich" for launch in (block[0] for block in blocks))


def test_cells_of_an_mpi_that_is_not_there_are_skipped(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = plan_of(TEXT, mpis=[*in_use("mpich"), absent("openmpi", "no openmpi found")])
    skips = {cell.skip for cell in plan.cells if cell.mpi == "openmpi"}
    assert skips == {"openmpi: no openmpi found"}
    assert {launch.mpi for launch in plan.launches} == {"mpich"}
    assert plan.mpis[1].unavailable == "no openmpi found"
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan


def test_contrasts_stay_within_an_mpi(plan_of: Callable[..., Plan]) -> None:
    along = ACROSS + 'axis = "message_bytes"\na = 8\nb = 64\n'
    plan = plan_of(TEXT + along, mpis=in_use("mpich", "openmpi"))
    own = [contrast for contrast in plan.contrasts if contrast.group == "x"]
    assert len(own) == 2 * 3
    for made in own:
        assert plan.cells[made.a.cell].mpi == plan.cells[made.b.cell].mpi


def test_contrasts_between_mpis(plan_of: Callable[..., Plan]) -> None:
    between = ACROSS + 'axis = "mpi"\na = "mpich"\nb = ["openmpi", "intelmpi"]\n'
    plan = plan_of(TEXT + between, mpis=in_use("mpich", "openmpi"))
    assert len(plan.contrasts) == 2 * 3, "intelmpi is not in this run"
    for made in plan.contrasts:
        a, b = coordinates(plan.cells[made.a.cell]), coordinates(plan.cells[made.b.cell])
        assert [axis for axis in a if a[axis] != b[axis]] == ["mpi"]
        assert (made.a.value, made.b.value) == ("mpich", "openmpi")
    assert plan_of(TEXT + between, mpis=in_use("openmpi")).contrasts == []
    own = ACROSS.replace('"x"', '"y"') + 'axis = "message_bytes"\na = 8\nb = 64\nwhere = { mpi = "mpich" }\n'
    across = plan_of(TEXT + own, mpis=in_use("mpich", "openmpi")).contrasts
    assert sum(contrast.group == "y" for contrast in across) == 3
    assert plan_of(TEXT + own, mpis=in_use("openmpi")).contrasts == []


def test_the_others_are_compared_with_the_first_cell_by_cell(plan: Plan) -> None:
    cells = {cell.cell: cell for cell in plan.cells}
    assert {contrast.axis for contrast in plan.contrasts} == {"mpi"}
    groups = list(dict.fromkeys(contrast.group for contrast in plan.contrasts))
    assert groups == [f"{b} against mpich: {group}" for group in ("c", "d") for b in ("openmpi", "intelmpi")]
    for contrast in plan.contrasts:
        a, b = (coordinates(cells[side.cell]) for side in (contrast.a, contrast.b))
        assert [axis for axis in a if a[axis] != b[axis]] == ["mpi"]
        assert contrast.metric == "half_round_trip_latency_s"
        assert (contrast.a.value, contrast.a.phase, contrast.b.phase) == ("mpich", "steady", "steady")
    measured = [cell for cell in plan.cells if cell.skip is None]
    assert len(plan.contrasts) == sum(cell.mpi != "mpich" for cell in measured)  # intelmpi's "off" is skipped
    assert len({contrast.id for contrast in plan.contrasts}) == len(plan.contrasts)


# Environments whose launches count calls instead of taking times.


ENVIRONMENTS_PLAN_WITNESSED = """
[[environment]]
name = "default"
[[environment]]
name = "counted"
witness = true
[[environment]]
name = "off"
setting = "single_copy_off"
[[environment]]
name = "off, counted"
setting = "single_copy_off"
witness = true
"""
CELLS = """
[[cells]]
name = "long"
experiment = "p2p"
environment = {environments}
[cells.parameters]
message_bytes = ["1KiB", "1MiB"]
"""
CONTRAST = """
[[contrast]]
name = "x"
question = "?"
cells = "long"
axis = "{axis}"
a = "{a}"
b = "{b}"
metric = "half_round_trip_latency_s"
"""
ALL = CELLS.format(environments='"*"')


def test_a_witnessed_cell_counts_for_its_equal(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS_PLAN_WITNESSED + ALL)
    twins = twins_of(plan)
    by_number = {cell.cell: cell for cell in plan.cells}
    assert len(twins.witnessed) == 4
    assert not twins.stand_alone
    for timed, counting in twins.counted_by.items():
        (other,) = (by_number[number] for number in counting)
        assert other.key == by_number[timed].key
        assert other.environment == {"default": "counted", "off": "off, counted"}[by_number[timed].environment]


def test_only_the_first_rounds_are_witnessed(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS_PLAN_WITNESSED + ALL, rounds=5)
    rounds = [launch.round for launch in plan.launches if launch.environment == "counted"]
    assert rounds == list(range(1, WITNESSED_ROUNDS + 1))
    assert sum(launch.environment == "default" for launch in plan.launches) == 5


def test_to_count_changes_nothing_for_timed_launches(plan_of: Callable[..., Plan]) -> None:
    """Two groups that share launches go on sharing them when one of them is witnessed, too."""
    other = ALL.replace('"long"', '"more"').replace('"*"', '["default", "off"]')
    plan = plan_of(ENVIRONMENTS_PLAN_WITNESSED + CELLS.format(environments='["default", "off", "counted"]') + other)
    assert {len(launch.cells) for launch in plan.launches if launch.environment == "default"} == {4}


def test_contrasts_leave_witnessed_cells_out(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(ENVIRONMENTS_PLAN_WITNESSED + ALL + CONTRAST.format(axis="message_bytes", a="1KiB", b="1MiB"))
    sides = {side.cell for contrast in plan.contrasts for side in (contrast.a, contrast.b)}
    assert len(plan.contrasts) == 2
    assert not sides & twins_of(plan).witnessed
