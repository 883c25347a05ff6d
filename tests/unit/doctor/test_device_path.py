# SPDX-License-Identifier: Apache-2.0
"""The proof, with planted jobs; with real MPIs: tests/engine/test_device_path_real.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from slowpath.doctor.gpu import DevicePath, Transfer, judge, later_bandwidth, prove_device_path, variables_without_ipc
from slowpath.mpi.message_path import Protocol
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


def test_wrong_bytes_are_no(tmp_path: Path) -> None:
    wrong = "print('8 1.0 0.5'); print('# 67108864 failed: wrong payload: 3 of 8 bytes'); sys.exit(1)"
    found = prove_device_path(*planted(tmp_path, wrong))
    assert not found.works
    assert "wrong payload: 3 of 8 bytes" in (found.reason or "")


def test_a_crash_after_the_last_row_is_no(tmp_path: Path) -> None:
    body = f"print({TABLE!r}.format(first=1.0, later=1.0), flush=True); os.abort()"
    found = prove_device_path(*planted(tmp_path, body))
    assert (found.works, found.device_bytes_per_s) == (False, None)
    assert found.reason == "crashed by SIGABRT, without a message"


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


def test_without_a_host_number_there_is_no_path(tmp_path: Path) -> None:
    body = f"memory == 'host' and sys.exit('no shared memory'); print({TABLE!r}.format(first=1.0, later=1.0))"
    found = prove_device_path(*planted(tmp_path, body))
    assert (found.works, found.path, found.host_bytes_per_s) == (True, None, None)
    assert "no shared memory" in (found.reason or "")


def test_a_table_without_all_its_rows_is_no_number() -> None:
    assert later_bandwidth("")[0] is None
    assert later_bandwidth("67108864 1.0 1.0\n")[0] is None
    assert later_bandwidth("8 1.0 1.0\n67108864 1.0 0.0\n")[0] is None
    assert later_bandwidth("8 1.0 1.0\n# 67108864 skipped: out of memory\n") == (None, "skipped: out of memory")


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


def test_ipc_over_a_slow_link_is_told_by_the_reference(tmp_path: Path) -> None:
    found = three(tmp_path, 2600.0, 5200.0, 5400.0, "cuda_ipc", "ucx")
    assert (found.path, found.method, found.agrees) == ("ipc", "reference", True)
    assert found.reported == "zero-copy read from remote on cuda_ipc/cuda"


def test_one_job_that_noise_made_faster_is_not_taken_for_ipc(tmp_path: Path) -> None:
    """The first pair says twice as fast, as has happened on a loaded machine; later ones say equal."""
    count = tmp_path / "count"
    body = (
        f"open({str(count)!r}, 'a').write('x') if memory == 'device' else None\n"
        f"us = 2000.0 if len(open({str(count)!r}).read()) == 2 else 1000.0\n"
        f"print({TABLE!r}.format(first=1.0, later=us))"
    )
    found = prove_device_path(*planted(tmp_path, body, "ucx"), {})
    assert (found.path, found.method) == ("staged", "reference")
    assert count.read_text() == "xxxx"


def test_a_report_that_contradicts_is_said(tmp_path: Path) -> None:
    found = three(tmp_path, 1645.0, 1657.0, 5412.0, "cuda_ipc", "ucx")
    assert (found.works, found.path, found.agrees) == (True, None, False)
    assert "measured as staged, but UCX reports another path" in (found.reason or "")


def test_a_reference_that_crashes_leaves_bandwidth(tmp_path: Path) -> None:
    body = f"ipc or os.abort()\nprint({TABLE!r}.format(first=1.0, later=100.0 if memory == 'device' else 10000.0))"
    found = prove_device_path(*planted(tmp_path, body, "ucx"), {})
    assert (found.works, found.path, found.method) == (True, "ipc", "bandwidth")
    assert found.reference_bytes_per_s is None


def test_without_ucx_nothing_is_said_of_a_reference(tmp_path: Path) -> None:
    found = three(tmp_path, 100.0, 100.0, 10000.0, "", None)
    assert (found.path, found.method, found.reported, found.agrees) == ("ipc", "bandwidth", None, None)


DIRECT = Protocol("intra-node", "tagged message", 0, float("inf"), "zero-copy", "cuda_ipc/cuda")
HOST = Transfer(10.0, None)


@pytest.mark.parametrize(
    ("device", "reference", "path"),
    [(20.0, 10.0, "ipc"), (15.0, 10.0, "ipc"), (13.0, 10.0, None), (12.0, 10.0, "staged"), (5.0, 10.0, "staged")],
)
def test_limits_against_the_reference(device: float, reference: float, path: str | None) -> None:
    found = judge(Transfer(device, None), Transfer(reference, None), HOST)
    assert (found.path, found.method) == (path, "reference")
    assert (found.reason is None) == (path is not None)


@pytest.mark.parametrize(("device", "path"), [(100.0, "ipc"), (99.0, None), (15.1, None), (15.0, "staged")])
def test_limits_against_host_memory(device: float, path: str | None) -> None:
    found = judge(Transfer(device, None), Transfer(None, "it crashed"), HOST)
    assert (found.path, found.method) == (path, "bandwidth")
    assert ("it crashed" in (found.reason or "")) == (path is None)


def test_a_reference_that_used_ipc_all_the_same_is_none() -> None:
    found = judge(Transfer(100.0, None, (DIRECT,)), Transfer(100.0, None, (DIRECT,)), HOST)
    assert (found.path, found.method, found.agrees) == ("ipc", "bandwidth", True)


def test_without_any_number_to_compare_there_is_no_path() -> None:
    found = judge(Transfer(100.0, None), Transfer(None, "no way"), Transfer(None, "out of memory"))
    assert (found.works, found.path, found.method) == (True, None, None)
    assert "no way" in (found.reason or "")
    assert "out of memory" in (found.reason or "")


def test_the_reference_leaves_alone_what_the_user_set() -> None:
    assert variables_without_ipc("openmpi", "ucx", {}) == ({"UCX_TLS": "^cuda_ipc"}, None)
    assert variables_without_ipc("openmpi", None, {})[0] == {}
    without, why_not = variables_without_ipc("mpich", None, {})
    assert set(without) == {"MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD", "MPIR_CVAR_CH4_IPC_MAP_REPEAT_ADDR"}
    assert why_not is None
    variables, why = variables_without_ipc("openmpi", "ucx", {"UCX_TLS": "all"})
    assert variables == {}
    assert "UCX_TLS is set" in (why or "")
