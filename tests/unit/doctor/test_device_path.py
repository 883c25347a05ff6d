# SPDX-License-Identifier: Apache-2.0
"""The proof, with planted jobs; with real MPIs: tests/engine/test_device_path_real.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from slowpath.doctor.gpu import DevicePath, Transfer, judge, prove_device_path, variables_without_ipc
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine, EngineNote

NOTE = EngineNote("", "", "", "", "", "", "")
TABLE = "# p2p\n# Size  First one-way (us)  Later one-way (us)\n8  1.0  0.5\n67108864  {first}  {later}\n"


def planted(folder: Path, body: str, transport: str | None = None) -> tuple[Mpi, Engine]:
    """An engine that is a Python script, which finds `memory` and `ipc` set, under a launcher that starts it once.

    `said(line)` writes where UCX would write.
    """
    launcher, program = folder / "mpiexec", folder / "engine"
    # The ranks' number, then variables as Open MPI's launcher takes them, then the program.
    launcher.write_text(
        '#!/bin/sh\nwhile :; do case "$1" in\n-n|--bind-to) shift 2 ;;\n-x) export "$2"; shift 2 ;;\n'
        '-*) shift ;;\n*) break ;; esac; done\nexec "$@"\n'
    )
    head = (
        "import os, sys, time\nmemory = sys.argv[sys.argv.index('--memory') + 1]\n"
        "ipc = os.environ.get('UCX_TLS') != '^cuda_ipc'\n"
        "def said(line): open(os.environ['UCX_LOG_FILE'].replace('%p', str(os.getpid())), 'a').write(line)\n"
    )
    program.write_text(f"#!{sys.executable}\n{head}{body}\n")
    for file in (launcher, program):
        file.chmod(0o755)
    mpi = Mpi("openmpi", "5", "option", folder, launcher, None, "openmpi", False, "prterun", "", transport=transport)
    return mpi, Engine(program, NOTE)


def test_a_job_that_hangs_is_ended(tmp_path: Path) -> None:
    found = prove_device_path(*planted(tmp_path, "time.sleep(1000)"), os.environ, limit_s=1.0)
    assert found == DevicePath(False, None, None, None, "hung: not done after 1 s")


def test_a_crash_is_no(tmp_path: Path) -> None:
    found = prove_device_path(*planted(tmp_path, "os.kill(os.getpid(), 11)"))
    assert (found.works, found.reason) == (False, "crashed by SIGSEGV, without a message")


@pytest.mark.parametrize(
    ("device_us", "path"), [(1000.0, "ipc"), (5000.0, None), (9000.0, "staged"), (90000.0, "staged")]
)
def test_the_path_by_the_ratio(tmp_path: Path, device_us: float, path: str | None) -> None:
    body = f"print({TABLE!r}.format(first=1e5, later={device_us} if memory == 'device' else 10000.0))"
    found = prove_device_path(*planted(tmp_path, body))
    assert (found.works, found.path) == (True, path)
    assert found.device_bytes_per_s == pytest.approx(67108864 / (device_us * 1e-6))
    assert found.host_bytes_per_s == pytest.approx(67108864 / 0.01)
    assert (found.reason is None) == (path is not None)


REPORT = (
    "| ucp_context_0 intra-node cfg#1 |\\n| rendezvous data fetch into cuda/GPU0 memory from cuda |\\n"
    "| 1..inf | zero-copy read from remote | {on}/cuda |\\n"
)
# Three launches of a library on UCX: with IPC, without, and from host memory.
THREE = (
    "us = {host} if memory == 'host' else {device} if ipc else {reference}\n"
    "said('{report}') if memory == 'device' and ipc else None\n"
    f"print({TABLE!r}.format(first=1e5, later=us))"
)


def three(folder: Path, device: float, reference: float, host: float, on: str, transport: str | None) -> DevicePath:
    report = REPORT.format(on=on) if on else ""
    body = THREE.replace("{report}", report).replace("{host}", str(host))
    body = body.replace("{device}", str(device)).replace("{reference}", str(reference))
    return prove_device_path(*planted(folder, body, transport), {})


@pytest.mark.parametrize("transport", ["ucx", None])
def test_staging_five_times_as_fast_as_host_memory_is_staging(tmp_path: Path, transport: str | None) -> None:
    """Numbers of an H200: staged through pinned host memory at 40.8 GB/s, the reference 40.5, host memory 12.4.

    With no transport known, that UCX reports is what tells that it is UCX.
    """
    found = three(tmp_path, 1645.0, 1657.0, 5412.0, "cuda_copy", transport)
    assert (found.path, found.method, found.agrees) == ("staged", "reference", True)
    assert found.reference_bytes_per_s == pytest.approx(67108864 / 1657e-6)
    assert found.reason is None


HOST = Transfer(10.0, None)


@pytest.mark.parametrize(
    ("device", "reference", "path"),
    [(20.0, 10.0, "ipc"), (15.0, 10.0, "ipc"), (13.0, 10.0, None), (12.0, 10.0, "staged"), (5.0, 10.0, "staged")],
)
def test_limits_against_the_reference(device: float, reference: float, path: str | None) -> None:
    found = judge(Transfer(device, None), Transfer(reference, None), HOST)
    assert (found.path, found.method) == (path, "reference")
    assert (found.reason is None) == (path is not None)


def test_the_reference_leaves_alone_what_the_user_set() -> None:
    assert variables_without_ipc("openmpi", "ucx", {}) == ({"UCX_TLS": "^cuda_ipc"}, None)
    assert variables_without_ipc("openmpi", None, {})[0] == {}
    without, why_not = variables_without_ipc("mpich", None, {})
    assert set(without) == {"MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD", "MPIR_CVAR_CH4_IPC_MAP_REPEAT_ADDR"}
    assert why_not is None
    variables, why = variables_without_ipc("openmpi", "ucx", {"UCX_TLS": "all"})
    assert variables == {}
    assert "UCX_TLS is set" in (why or "")
