# SPDX-License-Identifier: Apache-2.0
"""Campaign files: what is accepted, and the one line for each thing that is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable, campaign_toml
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.plan import Placement, Plan
from slowpath.plan.campaign import Nodes, decode, load, require_sound, resolve_placements, shipped
from slowpath.plan.cost import TimeLeft, estimate, fitting_rounds, kind_of, launch_parts_s, launch_seconds, of_rounds
from slowpath.plan.expand import MpiInUse, expand
from slowpath.record.plan_files import engine_plan_text, read_plan, write_plan

HEAD = '[campaign]\nname = "try"\ntitle = "A try"\n'
CELLS = '[[cells]]\nname = "c"\nexperiment = "p2p"\n'


def message_of(content: bytes | str) -> str:
    with pytest.raises(UsageError) as error:
        decode(content.encode() if isinstance(content, str) else content, "try.toml")
    text = str(error.value)
    assert text.startswith("try.toml: ")
    assert "\n" not in text
    return text


def test_defaults_are_one_environment_bound_to_cores() -> None:
    campaign = decode((HEAD + CELLS).encode(), "try.toml")
    assert [e.name for e in campaign.environments] == ["default"]
    assert [(p.name, p.bind) for p in campaign.placements] == [("bound", "core")]
    assert (campaign.ranks, campaign.rounds, campaign.minimum_effect) == ([2], 8, 0.03)
    assert campaign.text == (HEAD + CELLS).encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "table [campaign]: is missing"),
        (" \n", "table [campaign]: is missing"),
        (b"ok = 1\nbad = \xff", "line 2 is not UTF-8"),
        ("[campaign", "not valid TOML"),
        ("a = " + "[" * 5000, "not valid TOML"),
        ("[campain]\nname = 'x'", "table [campain]: is unknown; did you mean 'campaign'?"),
        (CELLS, "table [campaign]: is missing"),
        (HEAD, "table [[cells]]: is missing"),
        ("campaign = 3\n" + CELLS, "needs two brackets: [campaign]"),
        (HEAD + "rank = 2\n" + CELLS, "[campaign]: key rank: is unknown; did you mean 'ranks'?"),
        (HEAD + "ranks = 'two'\n" + CELLS, "[campaign]: key ranks: expected a whole number or a list of them"),
        (HEAD + "ranks = 0\n" + CELLS, "[campaign]: key ranks: expected a whole number >= 1"),
        (HEAD + "ranks = [2, 2]\n" + CELLS, "[campaign]: key ranks: '2' is listed twice"),
        (HEAD + "ranks = []\n" + CELLS, "[campaign]: key ranks: is empty"),
        (HEAD + "ranks = true\n" + CELLS, "[campaign]: key ranks: expected a whole number or a list of them"),
        (HEAD + "mpi = []\n" + CELLS, "[campaign]: key mpi: is empty"),
        (HEAD + "mpi = ''\n" + CELLS, "[campaign]: key mpi: '' is not a printable line"),
        (HEAD + "mpi = 3\n" + CELLS, "[campaign]: key mpi: expected"),
        (HEAD + "mpi = ['mpich', 'mpich']\n" + CELLS, "[campaign]: key mpi: 'mpich' is listed twice"),
        (HEAD + "mpi = ['mpich', 'all']\n" + CELLS, "[campaign]: key mpi: all and other names can't be combined"),
        (HEAD + "minimum_effect = nan\n" + CELLS, "[campaign]: key minimum_effect"),
        ('[campaign]\nname = "a b"\ntitle = "t"\n' + CELLS, "[campaign]: key name: 'a b' is not a name of letters"),
        ('[campaign]\nname = ""\ntitle = "t"\n' + CELLS, "[campaign]: key name"),
        ('[campaign]\nname = "a"\n' + CELLS, "[campaign]: key title: is missing"),
        (HEAD + CELLS + "copies = []\n", "[[cells]] 'c': key copies: is empty"),
        (HEAD + CELLS + "[cells.parameters]\npages = []\n", "'c': key parameters.pages: is empty"),
        (HEAD + CELLS + "[cells.parameters]\npages = {a = 1}\n", "'c': key parameters"),
        (HEAD + CELLS + CELLS, "[[cells]]: key name: 'c' is listed twice"),
        (HEAD + "[[cells]]\nexperiment = 'p2p'\n", "[[cells]] number 1: key name: is missing"),
        (HEAD + "[cells]\nname = 'c'\n", "needs two brackets: [[cells]]"),
        (HEAD + "cells = [1]\n", "[campaign]: key cells: is unknown"),
        (
            HEAD + "[[environment]]\nname='e'\nsetting='s'\nvariables={A='1'}\n" + CELLS,
            "[[environment]] 'e': variables and setting can't be combined",
        ),
        (HEAD + "[[environment]]\nname='e'\nvariables={'A B'='1'}\n" + CELLS, "is not a variable's name"),
        (HEAD + '[[environment]]\nname = "e"\nvariables = { A = "1\\u0000" }\n' + CELLS, "is not one line"),
        (HEAD + "[[environment]]\nname='e'\nvariables={A=1}\n" + CELLS, "key variables"),
        (HEAD + "[[placement]]\nname='p'\nbind='cores'\n" + CELLS, "did you mean 'core'?"),
        (HEAD + CELLS + "[[contrast]]\nname='x'\n", "[[contrast]] 'x': key question: is missing"),
    ],
)  # fmt: skip
def test_one_line_for_each_mistake(content: bytes | str, expected: str) -> None:
    assert expected in message_of(content)


def test_mpis_are_one_several_or_all() -> None:
    assert decode((HEAD + CELLS).encode(), "try.toml").mpi is None
    assert decode((HEAD + "mpi = 'all'\n" + CELLS).encode(), "try.toml").mpi == ["all"]
    assert decode((HEAD + "mpi = ['mpich', '/opt/x']\n" + CELLS).encode(), "try.toml").mpi == ["mpich", "/opt/x"]


def test_files_that_are_not_campaigns(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * 10_000_000)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, expected in [
        (tmp_path, "is a folder"),
        (large, "10000000 bytes, and the limit is 1048576"),
        (tmp_path / "none.toml", "unknown campaign"),
        (fifo, "it is a FIFO"),
    ]:
        with pytest.raises(UsageError, match=expected):
            load(path)


def test_a_misspelt_shipped_name_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'checkup'"):
        load("chekup")


@pytest.mark.parametrize("name", shipped())
def test_shipped_campaigns(name: str, description: dict[str, object]) -> None:
    campaign: Campaign = load(name)
    assert campaign.name == name
    mpi = MpiInUse("mpich", "mpich 5.0.2", lambda setting: ({setting.upper(): "1"}, None))
    plan = expand(campaign, description, [mpi], seed=1)
    if any(not environment.witness for environment in plan.environments):  # what only counts compares no times
        assert plan.contrasts
        assert any(contrast.control for contrast in plan.contrasts)
    assert len({cell.label for cell in plan.cells}) == len(plan.cells)


# Campaigns that the program made: written as files, read back, and checked like those of users.


MADE = Campaign(
    name="made",
    title="Every key",
    ranks=[2, 4],
    rounds=5,
    cells=[CellsTable("pages", "p2p", {"pages": ["huge", "small"], "time_limit_s": 0.008}, "*", ["far"], copies=2)],
    contrasts=[
        ContrastTable("pages", "Is it slower?", "pages", "pages", "huge", ["small"], "one_way_s", "first", {"copy": 1}),
        ContrastTable("again", "Is it?", "pages", "copy", 1, 2, "one_way_s", control=True, explains=True),
    ],
    environments=[
        EnvironmentTable("set", {"A_B": 'a "word" \\ \t'}, ["UCX_TLS"]),
        EnvironmentTable("counted", setting="single_copy_off", witness=True),
    ],
    placements=[PlacementTable("far", "numa", "socket", 1, 2, pairs_at_once=False, ranks=2)],
    minimum_effect=0.05,
    mpi=["mpich", "openmpi"],
    why="Two lines\nof comment.",
)


def values(campaign: Campaign) -> object:
    return msgspec.to_builtins(msgspec.structs.replace(campaign, source="", text=None, why=""))


def as_lists(node: object) -> object:
    return msgspec.json.decode(msgspec.json.encode(node))


@pytest.mark.parametrize("campaign", [MADE, *map(load, shipped())], ids=lambda campaign: campaign.name)
def test_what_is_written_reads_back_as_the_same_campaign(campaign: Campaign) -> None:
    assert as_lists(values(decode(campaign_toml(campaign).encode(), "made"))) == as_lists(values(campaign))


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"cells": []}, r"table \[\[cells\]\]: is missing"),
        ({"cells": [*MADE.cells, *MADE.cells]}, r"\[\[cells\]\]: key name: 'pages' is listed twice"),
        ({"placements": [PlacementTable("far", "nowhere")]}, "key bind: unknown value: 'nowhere'"),
        ({"environments": [EnvironmentTable("a", {"A_TOKEN": "x"})]}, "key variables.A_TOKEN"),
        ({"environments": [EnvironmentTable("a" * 81)]}, "length <= 80"),
        ({"cells": [CellsTable("other", "p2p")]}, "unknown group: 'pages'"),
    ],
)
def test_a_campaign_that_the_program_made_is_checked_like_a_file(changed: dict[str, object], complaint: str) -> None:
    require_sound(MADE)
    with pytest.raises(UsageError, match=complaint):
        require_sound(msgspec.structs.replace(MADE, **changed))


# Placements on the nodes at hand.


THREE = Nodes(3, ("n1", "n2", "n3"))


def resolved(ranks: int = 2, at_hand: Nodes = THREE, **keys: Any) -> list[Placement]:
    return resolve_placements([PlacementTable("there", **keys)], [ranks], at_hand, "test.toml")


@pytest.mark.parametrize("keys", [{"nodes": 2}, {"ranks_per_node": 2}, {"nodes": 2, "ranks_per_node": 2}])
def test_one_of_nodes_and_ranks_per_node_follows_from_the_other(keys: dict[str, int]) -> None:
    (placement,) = resolved(4, **keys)
    assert (placement.nodes, placement.ranks_per_node, placement.unavailable) == (2, 2, None)


def test_every_pair_of_nodes() -> None:
    pairs = resolved(pairs=True)
    assert [placement.name for placement in pairs] == ["there n1 n2", "there n1 n3", "there n2 n3"]
    assert [placement.hosts for placement in pairs] == [["n1", "n2"], ["n1", "n3"], ["n2", "n3"]]
    assert {placement.of for placement in pairs} == {"there"}


@pytest.mark.parametrize(
    ("nodes", "keys", "why"),
    [
        (Nodes(), {"nodes": 2}, "needs 2 nodes, not 1"),
        (Nodes(), {"pairs": True}, "the names of 2 nodes"),
        (Nodes(4), {"pairs": True}, "the names of 2 nodes"),
    ],
)
def test_nodes_that_are_not_there_have_cells_skipped_with_the_reason(
    nodes: Nodes, keys: dict[str, Any], why: str
) -> None:
    (placement,) = resolved(at_hand=nodes, **keys)
    assert placement.unavailable is not None
    assert why in placement.unavailable
    assert "slowpath run --script SYSTEM --nodes 2" in placement.unavailable


@pytest.mark.parametrize(
    ("ranks", "keys", "key"),
    [
        (3, {"nodes": 2}, "nodes"),
        (3, {"ranks_per_node": 2}, "nodes"),
        (4, {"nodes": 2, "ranks_per_node": 1}, "nodes"),
        (4, {"pairs": True}, "pairs"),
        (2, {"pairs": True, "nodes": 2}, "nodes"),
        (2, {"spread": "socket", "nodes": 2}, "spread"),
    ],
)
def test_keys_that_do_not_go_together(ranks: int, keys: dict[str, Any], key: str) -> None:
    with pytest.raises(UsageError, match=rf"test.toml: \[\[placement\]\] 'there': .*{key}"):
        resolved(ranks, **keys)


# The order of launches, their cost, and plans as files.
TEXT = """
[[environment]]
name = "default"
[[environment]]
name = "off"
setting = "single_copy_off"
[[placement]]
name = "bound"
[[placement]]
name = "unbound"
bind = "none"
[[cells]]
name = "c"
experiment = "p2p"
environment = "*"
placement = "*"
[cells.parameters]
message_bytes = "8..4KiB*2"
"""


@pytest.fixture
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of(TEXT, rounds=10)


def test_each_round_starts_each_kind_once(plan: Plan) -> None:
    assert [launch.launch for launch in plan.launches] == list(range(1, 41))
    for number in range(1, 11):
        block = [launch for launch in plan.launches if launch.round == number]
        assert len({(launch.environment, launch.placement) for launch in block}) == len(block) == 4
    orders = {tuple((x.environment, x.placement) for x in plan.launches[i : i + 4]) for i in range(0, 40, 4)}
    assert len(orders) > 3, "the order changes from round to round"


def test_each_launch_holds_the_cells_of_its_kind_shuffled(plan: Plan) -> None:
    for launch in plan.launches:
        kind = (launch.environment, launch.placement)
        assert sorted(launch.cells) == [c.cell for c in plan.cells if (c.environment, c.placement) == kind]
    assert len({tuple(launch.cells) for launch in plan.launches}) == len(plan.launches)
    assert len({launch.seed for launch in plan.launches}) == len(plan.launches)


def test_launches_that_a_contrast_compares_hold_the_same_cells(plan_of: Callable[..., Plan]) -> None:
    text = (
        TEXT
        + """
[[cells]]
name = "default alone"
experiment = "p2p"
[cells.parameters]
pattern = "windowed"
"""
    )
    plan = plan_of(text, rounds=2)
    groups = {cell.cell: cell.group for cell in plan.cells}
    for launch in plan.launches:
        assert len({groups[cell] for cell in launch.cells}) == 1
    assert len(plan.launches) == 2 * 5


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("allocations = 20", True),
        ("buffer_bytes = '1GiB'", True),
        ("time_limit_s = 0.0002", False),
        ("samples = 1", False),
    ],
)
def test_cost_follows_the_parameters(plan: Plan, plan_of: Callable[..., Plan], line: str, more: bool) -> None:
    changed = estimate(plan_of(TEXT + line + "\n", rounds=10)).wall_s
    assert (changed > estimate(plan).wall_s) == more


def test_progress_learns_from_finished_launches(plan: Plan) -> None:
    progress = TimeLeft(plan)
    assert progress.remaining_s() == pytest.approx(estimate(plan).wall_s)
    first = plan.launches[0]
    measured = 7 * launch_seconds(plan)[kind_of(first)]
    progress.finished(first, measured)
    seconds = sum(launch_seconds(plan).values())
    assert 20 * seconds < progress.remaining_s() < 70 * seconds - measured, "one kind says something of the others"
    for launch in plan.launches[1:-1]:
        progress.finished(launch, 3.0)
    progress.skipped(plan.launches[-1])
    assert progress.remaining_s() == 0


def test_slow_starts_do_not_make_long_launches_seem_too_long(plan_of: Callable[..., Plan]) -> None:
    """After two starts of 1.5 s instead of 0.3 s a launch of 10 s counted as 28 s, and 26 s of 30 s went unused."""
    text = ""
    for name, allocations in (("tiny", 2), ("small", 20), ("long", 2000)):
        text += f'[[environment]]\nname = "{name}"\n[[cells]]\nname = "{name}"\nexperiment = "p2p"\n'
        text += f'environment = "{name}"\n[cells.parameters]\nallocations = {allocations}\n'
    plan = plan_of(text, rounds=1)
    parts_s, left = launch_parts_s(plan), TimeLeft(plan)
    real_s = {launch.environment: 1.5 + sum(parts_s[kind_of(launch)][1]) for launch in plan.launches}
    for launch in plan.launches:
        if launch.environment != "long":
            left.finished(launch, real_s[launch.environment])
    assert left.remaining_s() == pytest.approx(real_s["long"], rel=0.1)


def test_a_plan_that_a_budget_leaves_undecided_says_so_before_it_starts(plan: Plan) -> None:
    round_s = sum(launch_seconds(plan).values())
    assert fitting_rounds(plan, 10 * round_s + 0.001) == (10, None)
    six, note = fitting_rounds(plan, 6.5 * round_s)
    assert six == 6
    assert note is not None
    assert note.startswith("about 6 of 10 rounds fit")
    three, warning = fitting_rounds(plan, 3.5 * round_s)
    assert three == 3
    assert warning is not None
    assert warning.startswith("warning: about 3 of 10 rounds")
    assert "decide little" in warning
    with pytest.raises(UsageError, match="too small"):
        fitting_rounds(plan, 1.5 * round_s)


def test_a_plan_is_cut_to_its_first_rounds(plan: Plan) -> None:
    assert of_rounds(plan, 6).launches == plan.launches[:24]
    assert of_rounds(plan, 6).rounds == 6
    assert of_rounds(plan, 11) == plan


def test_a_plan_is_read_back(plan: Plan, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "plan.json: cannot be read"),
        (b"\xff\xfe", "plan.json: cannot be read"),
        (b"[]", "plan.json: cannot be read"),
        (b'{"schema": 1}', "plan.json: cannot be read"),
        (b'{"schema": 2}', "use the slowpath that wrote it"),
        (b"[" * 100_000, "plan.json: cannot be read"),
    ],
)
def test_plans_that_cannot_be_read(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "plan.json"
    with pytest.raises(RecordError, match="is missing"):
        read_plan(path)
    path.write_bytes(content)
    with pytest.raises(RecordError, match=expected) as error:
        read_plan(path)
    assert "\n" not in str(error.value)


def test_the_engine_gets_its_cells_in_order(plan: Plan) -> None:
    launch = plan.launches[2]
    lines = engine_plan_text(plan, launch).split("\n")
    assert lines[:3] == ["slowpath-plan 1", "launch 3", f"seed {launch.seed}"]
    assert [int(line.split(" ")[1]) for line in lines[3:-1]] == launch.cells
    assert lines[-1] == ""
    cell = plan.cells[launch.cells[0]]
    assert lines[3].split(" ")[2:] == ["p2p", *(f"{k}={v}" for k, v in cell.parameters.items())]
    rest = engine_plan_text(plan, launch, launch.cells[5:])
    assert [int(line.split(" ")[1]) for line in rest.split("\n")[3:-1]] == launch.cells[5:]
