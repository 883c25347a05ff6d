# SPDX-License-Identifier: Apache-2.0
"""Campaign files: what is accepted, and the one line for each thing that is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slowpath.core.errors import UsageError
from slowpath.plan.campaign import Campaign, decode, load, shipped
from slowpath.plan.expand import MpiInUse, expand

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
        ("", "is empty"),
        (" \n", "is empty"),
        (b"ok = 1\nbad = \xff", "line 2 is not UTF-8"),
        ("[campaign", "not valid TOML"),
        ("a = " + "[" * 5000, "not valid TOML"),
        ("[campain]\nname = 'x'", "table [campain]: is unknown; did you mean 'campaign'?"),
        (CELLS, "table [campaign]: is missing"),
        (HEAD, "table [[cells]]: is missing"),
        ("campaign = 3\n" + CELLS, "[campaign]: must be a table"),
        (HEAD + "rank = 2\n" + CELLS, "[campaign]: key rank: is unknown; did you mean 'ranks'?"),
        (HEAD + "ranks = 'two'\n" + CELLS, "[campaign]: key ranks: expected a whole number or a list of them"),
        (HEAD + "ranks = 0\n" + CELLS, "[campaign]: key ranks: expected a whole number >= 1"),
        (HEAD + "ranks = [2, 2]\n" + CELLS, "[campaign]: key ranks: 2 is listed twice; write each number"),
        (HEAD + "ranks = []\n" + CELLS, "[campaign]: key ranks: is an empty list"),
        (HEAD + "ranks = true\n" + CELLS, "[campaign]: key ranks: expected a whole number or a list of them"),
        (HEAD + "mpi = []\n" + CELLS, "[campaign]: key mpi: is an empty list"),
        (HEAD + "mpi = ''\n" + CELLS, "[campaign]: key mpi: '' is not allowed"),
        (HEAD + "mpi = 3\n" + CELLS, "[campaign]: key mpi: expected"),
        (HEAD + "mpi = ['mpich', 'mpich']\n" + CELLS, "[campaign]: key mpi: 'mpich' is listed twice"),
        (HEAD + "mpi = ['mpich', 'all']\n" + CELLS, "[campaign]: key mpi: 'all' already means every MPI"),
        (HEAD + "minimum_effect = nan\n" + CELLS, "[campaign]: key minimum_effect"),
        ('[campaign]\nname = "a b"\ntitle = "t"\n' + CELLS, "[campaign]: key name: 'a b' is not allowed"),
        ('[campaign]\nname = ""\ntitle = "t"\n' + CELLS, "[campaign]: key name"),
        ('[campaign]\nname = "a"\n' + CELLS, "[campaign]: key title: is missing"),
        (HEAD + CELLS + "copies = []\n", "[[cells]] 'c': key copies: is an empty list"),
        (HEAD + CELLS + "[cells.parameters]\npages = []\n", "'c': key parameters.pages: is an empty list"),
        (HEAD + CELLS + "[cells.parameters]\npages = {a = 1}\n", "'c': key parameters"),
        (HEAD + CELLS + CELLS, "[[cells]] 'c': key name: is listed twice"),
        (HEAD + "[[cells]]\nexperiment = 'p2p'\n", "[[cells]] number 1: key name: is missing"),
        (HEAD + "[cells]\nname = 'c'\n", "write it with two brackets: [[cells]]"),
        (HEAD + "cells = [1]\n", "[campaign]: key cells: is unknown"),
        (
            HEAD + "[[environment]]\nname='e'\nsetting='s'\nvariables={A='1'}\n" + CELLS,
            "[[environment]] 'e': key variables: cannot be combined with setting",
        ),
        (HEAD + "[[environment]]\nname='e'\nvariables={'A B'='1'}\n" + CELLS, "not a name of an environment"),
        (HEAD + '[[environment]]\nname = "e"\nvariables = { A = "1\\u0000" }\n' + CELLS, "zero byte"),
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
        (large, "larger than 1 MiB"),
        (tmp_path / "none.toml", "no campaign"),
        (fifo, "not an ordinary file"),
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
