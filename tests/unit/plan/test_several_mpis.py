# SPDX-License-Identifier: Apache-2.0
"""One campaign under several MPIs: names, environments, cells, launches and contrasts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.core.plan import Plan
from slowpath.plan.expand import MpiInUse, absent, coordinates, short_names
from slowpath.record.plan_files import read_plan, write_plan

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
    assert skipped[0].skip == "environment 'off' is not available under intelmpi: no such switch"
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
    assert skips == {"openmpi is not available: no openmpi found"}
    assert {launch.mpi for launch in plan.launches} == {"mpich"}
    assert plan.mpis[1].unavailable == "no openmpi found"
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan


def test_contrasts_stay_within_an_mpi(plan_of: Callable[..., Plan]) -> None:
    along = ACROSS + 'axis = "message_bytes"\na = 8\nb = 64\n'
    plan = plan_of(TEXT + along, mpis=in_use("mpich", "openmpi"))
    own = [one for one in plan.contrasts if one.group == "x"]
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
    assert sum(one.group == "y" for one in across) == 3
    assert plan_of(TEXT + own, mpis=in_use("openmpi")).contrasts == []


def test_the_others_are_compared_with_the_first_cell_by_cell(plan: Plan) -> None:
    cells = {cell.cell: cell for cell in plan.cells}
    assert {one.axis for one in plan.contrasts} == {"mpi"}
    groups = list(dict.fromkeys(one.group for one in plan.contrasts))
    assert groups == [f"{b} against mpich: {group}" for group in ("c", "d") for b in ("openmpi", "intelmpi")]
    for one in plan.contrasts:
        a, b = (coordinates(cells[side.cell]) for side in (one.a, one.b))
        assert [axis for axis in a if a[axis] != b[axis]] == ["mpi"]
        assert one.metric == "half_round_trip_latency_s"
        assert (one.a.value, one.a.phase, one.b.phase) == ("mpich", "steady", "steady")
    measured = [cell for cell in plan.cells if cell.skip is None]
    assert len(plan.contrasts) == sum(cell.mpi != "mpich" for cell in measured)  # intelmpi's "off" is skipped
    assert len({one.id for one in plan.contrasts}) == len(plan.contrasts)
