# SPDX-License-Identifier: Apache-2.0
"""Campaigns that the program made: written as files, read back, and checked like those of users."""

from __future__ import annotations

import msgspec
import pytest

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable, campaign_toml
from slowpath.core.errors import UsageError
from slowpath.plan.campaign import decode, load, require_sound, shipped

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
        ({"cells": [*MADE.cells, *MADE.cells]}, r"\[\[cells\]\] 'pages': key name: is listed twice"),
        ({"placements": [PlacementTable("far", "nowhere")]}, "key bind: 'nowhere' is not one of core, socket"),
        ({"environments": [EnvironmentTable("a", {"A_TOKEN": "x"})]}, "key variables.A_TOKEN"),
        ({"environments": [EnvironmentTable("a" * 81)]}, "length <= 80"),
        ({"cells": [CellsTable("other", "p2p")]}, "there are no cells 'pages'"),
    ],
)
def test_a_campaign_that_the_program_made_is_checked_like_a_file(changed: dict[str, object], complaint: str) -> None:
    require_sound(MADE)
    with pytest.raises(UsageError, match=complaint):
        require_sound(msgspec.structs.replace(MADE, **changed))
