# SPDX-License-Identifier: Apache-2.0
"""Calls and variables of real libraries: what moves a long message is known, so what must be counted is, too."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from ranks import Ranks

from slowpath.analyse.cells import per_operation
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.place import network_is_up
from slowpath.mpi.settings import resolve
from slowpath.record.events import LaunchEvents, read_events
from slowpath.record.witness import CONTROL_VARIABLES, PERFORMANCE_VARIABLES, read_variables
from slowpath.run.prepare import witness_variables

MESSAGE_BYTES = 1 << 20  # far beyond every library's switch to its protocol for long messages
SINGLE_COPY = ("process_vm_readv", "process_vm_writev")
SOCKETS = ("socket_send", "socket_receive")
WAITS = {"futex_wait", "sched_yield", "poll", "sleep"}  # whose time is no work
Start = Callable[..., LaunchEvents]


@pytest.fixture
def start(ranks: Ranks, tmp_path: Path) -> Start:
    """Runs one cell of one_way and one of ping_pong in a state of the library, and reads the events."""

    def run(state: str | None = None, witnessed: bool = True) -> LaunchEvents:
        mpi = ranks.mpi
        variables, reason = resolve(state, mpi.name, mpi.version, mpi.transport) if state else ({}, None)
        if reason is not None:
            pytest.fail(f"{state}: {reason}")
        if witnessed:
            variables = witness_variables(ranks.engine.program, tmp_path, variables, os.environ, ranks.mpi.name)
        words = ["p2p", "--pattern", "one_way,ping_pong", "--message-bytes", str(MESSAGE_BYTES), "--samples", "8"]
        done = ranks.run_engine(*words, "--warmup-s", "0", "--out", str(tmp_path), exported=variables)
        assert done.returncode == 0, done.stderr
        return read_events(tmp_path / "events.jsonl")

    return run


def bytes_per_op(events: LaunchEvents, cell: int, names: tuple[str, ...]) -> float:
    """Of the steady state, over both ranks."""
    steady = [event for event in events.calls(cell) if event.phase == "steady"]
    assert {event.rank for event in steady} == {0, 1}, "ranks that store no times count, too"
    return float(sum(per_operation([event])[name].bytes_per_op for event in steady for name in names))


def test_one_copy_moves_the_message_and_no_more(mpi: Mpi, start: Start) -> None:
    events = start()
    assert events.begin is not None
    assert events.begin.witnessed
    expected = 0 if mpi.name == "intelmpi" else MESSAGE_BYTES  # Intel MPI copies twice, through shared memory
    assert bytes_per_op(events, 0, SINGLE_COPY) == expected
    assert bytes_per_op(events, 1, SINGLE_COPY) == 2 * expected
    assert bytes_per_op(events, 0, SOCKETS) < MESSAGE_BYTES / 100
    for event in events.calls(0):
        assert {name for name, row in event.counts.items() if row.time_ns is not None} == WAITS
        for name in WAITS:
            assert (event.counts[name].calls > 0) == ((event.counts[name].time_ns or 0) > 0)


def test_without_single_copy_nothing_is_read_from_the_other_process(mpi: Mpi, start: Start) -> None:
    if mpi.name == "intelmpi":
        return  # has no such switch (mpi.settings)
    events = start("single_copy_off")
    assert bytes_per_op(events, 0, SINGLE_COPY) == 0
    assert bytes_per_op(events, 0, SOCKETS) < MESSAGE_BYTES / 100


def test_over_tcp_the_message_goes_through_sockets(mpi: Mpi, start: Start, tmp_path: Path) -> None:
    if mpi.name == "mpich" and not network_is_up():
        return  # it does not start in this state (mpi.settings)
    events = start("network_path")
    assert bytes_per_op(events, 0, ("socket_send",)) >= MESSAGE_BYTES
    assert bytes_per_op(events, 0, ("socket_receive",)) >= MESSAGE_BYTES
    assert bytes_per_op(events, 0, SINGLE_COPY) == 0
    check_variables(mpi, tmp_path)


def check_variables(mpi: Mpi, folder: Path) -> None:
    """Control variables have values, those that the environment has set among them."""
    read, reason = read_variables(folder / CONTROL_VARIABLES)
    assert reason is None
    assert read is not None
    by_name = {variable.name: variable for variable in read.variables}
    if mpi.name == "mpich":
        assert by_name["MPIR_CVAR_NOLOCAL"].value == 1
    if mpi.name == "openmpi":
        assert by_name["btl"].value == "self,tcp"
        assert isinstance(by_name["btl_tcp_eager_limit"].value, int)
    assert all(variable.reason for variable in read.variables if variable.value is None), "what is null says why"
    assert json.loads((folder / PERFORMANCE_VARIABLES).read_text())["reason"] is None
