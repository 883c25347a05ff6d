# SPDX-License-Identifier: Apache-2.0
"""Campaigns whose cells the engine refuses before anything is launched, and the one line that says why."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from slowpath.core.engine_description import CheckCells
from slowpath.core.errors import UsageError
from slowpath.core.plan import Plan
from slowpath.plan.campaign import decode, load, shipped
from slowpath.plan.expand import MpiInUse, expand
from slowpath.run.engine.cache import Engine
from slowpath.run.engine.describe import checker, describe

HEAD = '[campaign]\nname = "try"\ntitle = "A try"\n[[cells]]\nname = "c"\nexperiment = "{}"\n[cells.parameters]\n'
Json = dict[str, Any]
PlanOf = Callable[..., Plan]


@pytest.fixture(scope="module")
def description(engine: Engine) -> Json:
    return describe(engine, os.environ)


@pytest.fixture(scope="module")
def check(engine: Engine) -> CheckCells:
    return checker(engine, os.environ)


@pytest.fixture(scope="module")
def plan_of(description: Json, check: CheckCells) -> PlanOf:
    """Plan of the parameters of one group of cells, and of tables behind them, as the engine accepts it."""
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({"X": "1"}, None))

    def build(experiment: str, lines: str, ranks: int = 2) -> Plan:
        campaign = decode((HEAD.format(experiment) + lines).encode(), "try.toml")
        return expand(campaign, description, [mpi], 1, ranks=ranks, check=check)

    return build


# The rules themselves: engine/tests/mpi/test_check.cpp.
REFUSED: list[tuple[str, str, int, str]] = [
    ("p2p", 'message_bytes = "16MiB"\nbuffer_bytes = "message:1MiB"', 2, "leaves the buffer (receiver)"),
    ("p2p", 'buffer_bytes = "8388607TiB"\noveralloc_bytes = "2TiB"', 2, "2^63"),
    ("p2p", 'message_bytes = 1024\ndatatype = "vector"\nblock_bytes = 8\nblocks = 5', 2, "blocks 5 and block_bytes 8"),
    ("p2p", 'pages = "huge"\nmemory = "device"', 2, "pages=huge is not for memory=device"),
    ("p2p", 'pattern = "windowed"\npairs = 2', 2, "4 ranks"),
    ("put", 'design = "memcpy"\ncall = "inlined"', 2, "design=memcpy has no call=inlined"),
    ("put", 'window_info = "no_locks"', 2, "promises that no lock is taken"),
    ("cannon", "n = 128", 9, "n=128 is no multiple of the 3 steps of 3 x 3 ranks; take n=129"),
]


@pytest.mark.parametrize(("experiment", "lines", "ranks", "expected"), REFUSED)
def test_a_refused_cell_is_one_line(plan_of: PlanOf, experiment: str, lines: str, ranks: int, expected: str) -> None:
    with pytest.raises(UsageError) as error:
        plan_of(experiment, lines, ranks)
    text = str(error.value)
    assert text.startswith("try.toml: [[cells]] 'c': key parameters: c: ")
    assert expected in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("lines", "metric", "expected"),
    [
        ('posted = "after"', "receive_s", None),
        (
            'posted = "after"',
            "one_way_s",
            "unknown metric of cell 'memory host': 'one_way_s'; choose from: receive_s",
        ),
        ('synchronise = "inside"', "send_barrier_s", None),
        ('synchronise = "inside"', "send_s", "did you mean 'send_barrier_s'?"),
        ("", "send_barrier_s", "did you mean 'send_s'?"),
    ],
)
def test_a_contrast_is_of_a_metric_that_its_cells_yield(
    plan_of: PlanOf, lines: str, metric: str, expected: str | None
) -> None:
    cells = f'pattern = "one_way"\nmemory = ["host", "mpi"]\n{lines}\n'
    contrast = '[[contrast]]\nname = "x"\nquestion = "?"\ncells = "c"\naxis = "memory"\na = "host"\nb = "mpi"\n'
    if expected is None:
        assert plan_of("p2p", cells + contrast + f'metric = "{metric}"').contrasts
        return
    with pytest.raises(UsageError) as error:
        plan_of("p2p", cells + contrast + f'metric = "{metric}"')
    assert str(error.value).startswith("try.toml: [[contrast]] 'x': ")
    assert expected in str(error.value)


@pytest.mark.parametrize("name", shipped())
def test_the_engine_takes_every_shipped_campaign(name: str, description: Json, check: CheckCells) -> None:
    mpis = [MpiInUse(mpi, mpi, lambda setting: ({"X": "1"}, None)) for mpi in ("mpich", "openmpi")]
    assert expand(load(name), description, mpis, 1, check=check).cells
