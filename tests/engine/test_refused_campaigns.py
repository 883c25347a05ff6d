# SPDX-License-Identifier: Apache-2.0
"""Campaigns whose cells the engine refuses before anything is launched, and the one line that says why.

The engine's rules are its own; here each of them is reached from a campaign, and what comes back is in its words.
"""

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


REFUSED: list[tuple[str, str, int, str]] = [
    # p2p: lengths
    ("p2p", 'message_bytes = "16MiB"\nbuffer_bytes = "2MiB"', 2, "leaves the buffer (sender)"),
    ("p2p", 'message_bytes = "16MiB"\nbuffer_bytes = "message:1MiB"', 2, "leaves the buffer (receiver)"),
    ("p2p", "offset_bytes = 1", 2, "leaves the buffer (sender)"),
    ("p2p", 'buffer_bytes = "7"\noveralloc_bytes = 1\noffset_bytes = 1', 2, "leaves the buffer (sender)"),
    ("p2p", 'buffer_bytes = "8388607TiB"\noveralloc_bytes = "2TiB"', 2, "2^63"),
    # p2p: datatypes
    ("p2p", 'message_bytes = 1024\ndatatype = "vector"\nblock_bytes = 7', 2, "1024 is no multiple of block_bytes 7"),
    ("p2p", 'message_bytes = 1024\ndatatype = "vector"\nblocks = 3', 2, "1024 is no multiple of blocks 3"),
    ("p2p", 'message_bytes = 1024\ndatatype = "vector"\nblock_bytes = 8\nblocks = 5', 2, "blocks 5 and block_bytes 8"),
    ("p2p", 'message_bytes = "1GiB"\ndatatype = "indexed"', 2, "1073741823"),
    # p2p: what goes with which pattern
    ("p2p", 'pages = "huge"\nmemory = "device"', 2, "pages=huge is not for memory=device"),
    ("p2p", 'posted = "after"', 2, "pattern=one_way"),
    ("p2p", 'pattern = "one_way"\nposted = "before"\nsynchronise = "inside"', 2, "synchronise=inside"),
    ("p2p", 'pattern = "one_way"\nqueue = 64', 2, "posted=before or posted=after"),
    ("p2p", 'pattern = "windowed"\npack = "mpi_pack"', 2, "pack=mpi_pack"),
    ("p2p", 'pattern = "one_way"\npack = "mpi_pack"\nposted = "before"', 2, "pack=mpi_pack"),
    ("p2p", 'progress = "test"', 2, "pattern=overlap"),
    # p2p: ranks
    ("p2p", "peer = 2", 2, "needs 3 ranks"),
    ("p2p", 'pattern = "windowed"\npairs = 2', 2, "4 ranks"),
    ("p2p", 'pattern = "one_way"\nmessages = 100000000\nlive_buffers = 65536', 2, "live_buffers"),
    # put
    ("put", "message_bytes = 12", 2, "message_bytes 12 is no multiple of 8"),
    ("put", 'message_bytes = "16GiB"', 2, "take datatype=large_count"),
    ("put", 'call = "inlined"', 2, "call and checks"),
    ("put", 'checks = "off"', 2, "call and checks"),
    ("put", 'operation = "rput"\nsynchronise = "fence"', 2, "operation=rput needs a passive target"),
    ("put", 'operation = "accumulate"\ndatatype = "contiguous"', 2, "MPI_Accumulate takes one basic type only"),
    ("put", 'operation = "fetch_and_op"\ndatatype = "vector"', 2, "take datatype=predefined"),
    ("put", 'operation = "compare_and_swap"\nmessage_bytes = 16', 2, "take message_bytes=8"),
    ("put", 'window_info = "no_locks"', 2, "promises that no lock is taken"),
    ("put", 'design = "complex"\noperation = "get"', 2, "only design=mpi has other operations"),
    ("put", 'design = "simple"\nwindow = "create"', 2, "only design=mpi has kinds of windows"),
    ("put", 'design = "shmem_p"\nsynchronise = "fence"', 2, "only design=mpi has ways to synchronise"),
    ("put", 'design = "store"\nwindow_info = "latency"', 2, "only design=mpi has info keys"),
    ("put", 'design = "complex"\ndatatype = "large_count"', 2, "is MPI_Put_c"),
    ("put", 'design = "small_args"\ndatatype = "vector"', 2, "take datatype=predefined"),
    ("put", 'design = "store"\nchecks = "off"', 2, "checks"),
    ("put", 'design = "memcpy"\ncall = "inlined"', 2, "design=memcpy has no call=inlined"),
    # cannon
    ("cannon", "n = 128", 9, "n=128 is no multiple of the 3 steps of 3 x 3 ranks; take n=129"),
    ("cannon", "n = 128", 6, "n=128 is no multiple of the 6 steps of 2 x 3 ranks; take n=126"),
    ("cannon", "n = 1", 4, "n=1 is no multiple of the 2 steps of 2 x 2 ranks; take n=2"),
    ("cannon", 'n = 128\ngrid = "ring"', 12, "no multiple of the 12 steps of 1 x 12 ranks; take n=132"),
    ("cannon", 'n = 65538\nnumbers = "integer"', 2, "exact up to n=65536"),
    ("cannon", 'skew = "moved"\nsource = "root"', 2, "skew=moved"),
    ("cannon", 'skew = "moved"\nsource = "file"', 2, "skew=moved"),
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
            "key metric: cell 'memory host' does not measure 'one_way_s', but",
        ),
        ('synchronise = "inside"', "send_barrier_s", None),
        ('synchronise = "inside"', "send_s", "but send_barrier_s; choose one, or narrow where"),
        ("", "send_barrier_s", "but one_way_s, send_s, receive_s"),
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
