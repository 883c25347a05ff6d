# SPDX-License-Identifier: Apache-2.0
"""The two reproducer commands under a real MPI: their lines, their errors, their exit codes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from ranks import finished
from reproducers import SECONDS, Commands, commands_in, lines_match, overalloc_lines, pinned_lines

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine

NO_DRIVER = "libslowpath-no-such-driver.so"


@pytest.fixture(scope="session")
def commands(mpi: Mpi, engine: Engine) -> Commands:
    """The commands, which are built and installed beside the engine."""
    return commands_in(engine.program.parent, mpi)


@pytest.mark.parametrize("text", ["0.00281", "2.8895e-05", "0.0244", "3", "1e-07", "123456", "1.23457e+06"])
def test_seconds_pattern_takes_what_ostream_prints(text: str) -> None:
    assert re.fullmatch(SECONDS, text)


@pytest.mark.parametrize("text", ["", "0.0028100", "1.2345678e-05", "-1", "nan", "2.8895E-05"])
def test_seconds_pattern_refuses_other_spellings(text: str) -> None:
    assert not re.fullmatch(SECONDS, text)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("sizes", [(1024, 1048576, 1), (0, 0, 0), (65537, 65537, 2097152)])
def test_overalloc_prints_the_lines_of_the_field_logs(
    commands: Commands, ranks: int, sizes: tuple[int, int, int]
) -> None:
    p2p, buffer, over = sizes
    done = commands.run(ranks, f"gpudirect_p2p_overalloc 3 2 {p2p} {buffer} {over} --memory host")
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, overalloc_lines(ranks - 1, 3, 2, p2p, buffer, over, "host"))


def test_a_message_longer_than_buffer_size_stays_inside_the_allocation(commands: Commands) -> None:
    done = commands.run(2, "gpudirect_p2p_overalloc 2 2 65537 65536 4096 --memory host")
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, overalloc_lines(1, 2, 2, 65537, 65536, 4096, "host"))
    assert "of 65536 bytes from a buffer of 65536 bytes (without overalloc)." in done.stdout


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("p2p", [0, 1, 134217])
def test_pinned_host_prints_the_lines_of_the_field_logs(commands: Commands, ranks: int, p2p: int) -> None:
    done = commands.run(ranks, f"intranode_pinned_host_comm 2 5 host {p2p}")
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, pinned_lines("host", ranks - 1, 2, 5, p2p))


def test_the_name_for_two_nodes_is_the_same_program(commands: Commands) -> None:
    done = commands.run(2, "internode_pinned_host_comm 1 2 host 8")
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, pinned_lines("host", 1, 1, 2, 8))
    assert "usage: internode_pinned_host_comm <num" in commands.run(2, "internode_pinned_host_comm").stderr


@pytest.mark.parametrize("memory", ["pinned_host", "device"])
def test_pinned_host_with_a_driver(commands: Commands, stub: Path, memory: str) -> None:
    env = {"SLOWPATH_CUDA_DRIVER": str(stub)}
    done = commands.run(2, f"intranode_pinned_host_comm 2 2 {memory} 100000", env)
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, pinned_lines(memory, 1, 2, 2, 100000))


@pytest.mark.parametrize(
    ("option", "memory"), [("", "device"), (" --memory managed", "managed"), (" --memory=pinned_host", "pinned_host")]
)
def test_overalloc_with_a_driver(commands: Commands, stub: Path, option: str, memory: str) -> None:
    env = {"SLOWPATH_CUDA_DRIVER": str(stub), "SLOWPATH_STUB_CUDA_DEVICES": "2"}
    done = commands.run(2, f"gpudirect_p2p_overalloc 2 2 1024 65536 1{option}", env)
    assert done.returncode == 0, done.stderr
    lines_match(done.stdout, overalloc_lines(1, 2, 2, 1024, 65536, 1, memory))


def assert_explained(commands: Commands, words: str, reason: str) -> None:
    done = commands.run(2, words)
    name = words.split()[0]
    assert done.returncode == 2
    assert done.stdout == "" or "error" not in done.stdout
    assert done.stderr.count(f"usage: {name} <num_iterations> <num_sub_iterations>") == 1
    assert done.stderr.count(reason) == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("gpudirect_p2p_overalloc", "5 arguments are needed, 0 were given"),
        ("intranode_pinned_host_comm 2 5 host", "4 arguments are needed, 3 were given"),
    ],
)
def test_wrong_arguments_are_explained_by_one_rank(commands: Commands, words: str, reason: str) -> None:
    assert_explained(commands, words, reason)


@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("gpudirect_p2p_overalloc 5 3 1024 1048576", "5 arguments are needed, 4 were given"),
        ("gpudirect_p2p_overalloc 5 3 1KiB 1048576 1", "p2p_size is '1KiB': it must be a whole number"),
        ("gpudirect_p2p_overalloc 5 3 -1 1048576 1", "p2p_size is '-1': it must be at least 0"),
        ("gpudirect_p2p_overalloc 5 3 10 8 1", "p2p_size 10 is larger than buffer_size + overalloc_size, 9"),
        ("gpudirect_p2p_overalloc 5 3 8 8 1 --memory mpi", "--memory is 'mpi': it must be one of device"),
        (
            "intranode_pinned_host_comm 2 5 gpu 8",
            "mem_type is 'gpu': it must be one of host, pinned",
        ),
        ("intranode_pinned_host_comm 2 0 host 8", "num_sub_iterations is '0': it must be at least 1"),
    ],
)
def test_wrong_arguments_are_explained(commands: Commands, words: str, reason: str) -> None:
    assert_explained(commands, words, reason)


@pytest.mark.parametrize("name", ["gpudirect_p2p_overalloc", "intranode_pinned_host_comm"])
def test_usage_needs_no_launcher(commands: Commands, name: str) -> None:
    helped = finished([commands.folder / name, "--help"])
    assert (helped.returncode, helped.stderr) == (0, "")
    assert helped.stdout.startswith(f"usage: {name} ")
    wrong = finished([commands.folder / name, "1"])
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_one_rank_is_too_few(commands: Commands) -> None:
    done = commands.run(1, "intranode_pinned_host_comm 1 1 host 8")
    assert done.returncode == 4
    assert "error: MPI_COMM_WORLD has 1 rank and 2 are needed" in done.stderr


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({"SLOWPATH_CUDA_DRIVER": NO_DRIVER}, f"device memory: no CUDA driver ({NO_DRIVER}: "),
        ({"SLOWPATH_STUB_CUDA_DEVICES": "0"}, "device memory: CUDA driver found but no device"),
    ],
)
def test_memory_that_is_not_there_is_named_once(
    commands: Commands, stub: Path, env: dict[str, str], reason: str
) -> None:
    done = commands.run(3, "gpudirect_p2p_overalloc 1 1 8 8 1", {"SLOWPATH_CUDA_DRIVER": str(stub), **env})
    assert done.returncode == 4
    assert done.stderr.count(reason) == 1
    assert re.search(r"\(rank 0 of 3 on \S+\)", done.stderr)
    assert "time:" not in done.stdout


@pytest.mark.parametrize("call", ["cuMemAlloc_v2", "cuMemFree_v2", "cuDevicePrimaryCtxRetain"])
def test_a_failing_driver_call_ends_the_job(commands: Commands, stub: Path, call: str) -> None:
    env = {"SLOWPATH_CUDA_DRIVER": str(stub), "SLOWPATH_STUB_CUDA_FAIL": f"{call}=2"}
    done = commands.run(2, "gpudirect_p2p_overalloc 1 1 8 8 1", env)
    assert done.returncode == 4
    error = rf"error: {call}: CUDA_ERROR_OUT_OF_MEMORY, out of memory \(8 bytes\) \(rank [01] of 2 on \S+\)"
    assert re.search(error, done.stderr), done.stderr


def test_too_much_memory_ends_the_job(commands: Commands) -> None:
    done = commands.run(2, f"gpudirect_p2p_overalloc 1 1 8 8 {2**60} --memory host")
    assert done.returncode == 4
    assert re.search(r"error: mmap: Cannot allocate memory \(\d+ bytes\) \(rank 0 of 2 on \S+\)", done.stderr)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full to write to")
def test_a_full_disk_ends_the_job(commands: Commands, tmp_path: Path) -> None:
    script = tmp_path / "to_full.sh"
    script.write_text('#!/bin/sh\nexec "$@" > /dev/full\n')
    script.chmod(0o755)
    command = [*commands.mpiexec, "-n", "2", str(script), str(commands.folder / "intranode_pinned_host_comm")]
    done = finished([*command, "1", "1", "host", "8"], commands.env)
    assert done.returncode == 4
    assert "error: stdout takes no more lines" in done.stderr
