# SPDX-License-Identifier: Apache-2.0
"""Programs that are stepped through: what was counted by hand, and what programs do meanwhile."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from test_count_compare import count

from slowpath.core.errors import EnvironmentFailure
from slowpath.studies.counting.report import as_json, as_text, compare_counts
from slowpath.studies.counting.trace import Call, ProcessCount, Wish, count_calls, decoded, exit_code

SOURCES = Path(__file__).parents[3] / "engine" / "studies" / "counting" / "tests"
traced = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="needs an x86-64 processor and gcc"
)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("calls")
    known, calls = folder / "libknown.so", folder / "calls"
    subprocess.run(["gcc", "-shared", "-o", known, SOURCES / "known.S"], check=True)
    subprocess.run(["gcc", "-O1", "-o", calls, SOURCES / "program_calls.c", "-lpthread", "-ldl"], check=True)
    return [str(calls), str(known)]


def run(
    command: list[str], function: str, how: str, calls: int = 64, skip: int = 0, most: int = 100000
) -> ProcessCount:
    """The first process's count."""
    _, counts = count_calls(Wish(function, calls, skip, most), [*command, how], os.environ, output_to_stderr=False)
    return counts[0]


def numbers(made: ProcessCount) -> list[tuple[int | None, int | None]]:
    return [(call.stepped, call.retired) for call in made.calls]


@traced
@pytest.mark.parametrize(
    ("function", "how", "expected"),
    [
        ("known_ten", "ten", [(10, 10)] * 5),
        ("known_copy", "copy", [(39, 3)]),
        ("known_recursion", "recursion", [(23, 23)] * 3),
        ("known_nested", "nested", [(14, 14)] * 3),
        ("known_alias", "nested", [(14, 14)] * 3),  # another name of the same function
        ("known_system_call", "system_call", [(4, 4)] * 3),
        ("known_ten", "blocked", [(10, 10)] * 2),
        ("known_ten", "own_handler", [(10, 10)] * 2),
    ],
)
def test_counts_what_was_counted_by_hand(
    command: list[str], function: str, how: str, expected: list[tuple[int, int]]
) -> None:
    made = run(command, function, how)
    assert numbers(made) == expected
    assert made.calls_met == len(expected)
    assert sum(share.stepped for share in made.shares) == sum(stepped for stepped, _ in expected)
    assert {share.library for share in made.shares} == {"libknown.so"}


@traced
def test_system_calls_are_counted_while_it_steps(command: list[str]) -> None:
    """The kernel's instructions can't be stepped through, so its part is how often it was called."""
    made = run(command, "known_system_call", "system_call")
    assert made.system_calls == {"system call 39": 3}  # getpid
    assert "      1.00   calls  kernel                    system call 39" in as_text([made])
    assert json.loads(as_json([made], "known_system_call", 0))["processes"][0]["system_calls"] == made.system_calls
    assert run(command, "known_ten", "ten").system_calls == {}
    without, again = replace(made, system_calls={}), compare_counts([made], [made], "known_system_call", 0.01)
    (kernel,) = compare_counts([without], [made], "known_system_call", 0.01).processes[0].changes
    assert (kernel.library, kernel.function, kernel.old, kernel.new) == ("kernel", "calls of system call 39", 0, 1)
    assert again.processes[0].changes == ()


@traced
def test_counts_the_calls_that_were_asked_for(command: list[str]) -> None:
    assert [call.number for call in run(command, "known_ten", "ten", calls=2, skip=1).calls] == [2, 3]
    assert run(command, "known_ten", "ten", calls=2, skip=100).calls_met == 5
    assert count_calls(Wish("no_such", 1, 0, 10), [*command, "ten"], os.environ, False) == (0, [])


@traced
def test_counts_threads_and_children(command: list[str]) -> None:
    threads = numbers(run(command, "known_ten", "threads"))
    assert len(threads) >= 20  # a call that begins while another thread executes the first instruction is not seen
    assert set(threads) == {(10, 10)}
    _, counts = count_calls(Wish("known_ten", 64, 0, 1000), [*command, "fork"], os.environ, False)
    assert sorted(len(made.calls) for made in counts) == [1, 2]
    assert run(command, "pthread_create", "threads").calls[0].stepped


@traced
@pytest.mark.parametrize(("how", "number"), [("crash", signal.SIGABRT), ("trap", signal.SIGTRAP)])
def test_a_program_that_is_killed_shows_what_it_counted(command: list[str], how: str, number: int) -> None:
    ended, [made] = count_calls(Wish("known_ten", 64, 0, 1000), [*command, how], os.environ, False)
    assert (ended, numbers(made)) == (-number, [(10, 10)])


@traced
def test_gives_up_with_a_reason(command: list[str]) -> None:
    waits = run(command, "known_loop", "jump", most=1000)
    assert "more instructions than --most" in (waits.calls[0].reason or "")
    assert waits.calls[1].stepped == 8
    jump = run(command, "known_loop", "jump", most=10**9)
    assert "left by longjmp" in (jump.calls[0].reason or "")
    assert jump.calls[1].stepped == 8
    chosen = run(command, "memcpy", "ten")
    assert (chosen.calls, "STT_GNU_IFUNC" in chosen.troubles[0].reason) == ((), True)


def test_repeated_instructions_and_system_calls_are_known() -> None:
    for code in ("f3a4", "f348a5", "f2ae", "66f3ab"):
        assert decoded(bytes.fromhex(code)).repeated
    for code in ("a4", "f3c3", "f390", "f30f1efa", "f20f58c1"):
        assert not decoded(bytes.fromhex(code)).repeated
    assert decoded(b"\x0f\x05").system_call
    assert not decoded(b"").repeated


def test_nothing_counted_has_a_reason() -> None:
    never = count([])
    assert "nothing counted: not called" in as_text([never])
    given_up = replace(never, calls=(Call(3, 7, None, None, "it waits"),), calls_met=3)
    data = json.loads(as_json([given_up], "MPI_Put", 0))
    assert data["processes"][0]["stepped"] is None
    assert data["processes"][0]["reason"] == "call 3: it waits"
    assert exit_code([never], "MPI_Put", 0) == 0
    with pytest.raises(EnvironmentFailure, match="no call of MPI_Put counted"):
        exit_code([never, given_up], "MPI_Put", 0)
    assert exit_code([given_up, count([9])], "MPI_Put", 0) == 0
