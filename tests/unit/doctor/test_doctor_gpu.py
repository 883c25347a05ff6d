# SPDX-License-Identifier: Apache-2.0
"""What the doctor concludes from the proofs, and how far it goes unasked."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.doctor import gpu
from slowpath.doctor.gpu import (
    DevicePath,
    Transfer,
    conclusion,
    judge,
    mpi_and_gpu_memory,
    prove_device_path,
    variables_without_ipc,
)
from slowpath.mpi.message_path import in_words, moving, protocols
from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine, EngineNote

IPC = DevicePath(True, "ipc", 5.2e9, 394e9, None)
NO = DevicePath(False, None, None, None, "crashed: Segmentation fault")


def mpi(name: str, source: str = "PATH") -> Mpi:
    place = Path("/opt") / name
    return Mpi(name, "5", source, place, place / "mpiexec", None, "mpich", False, "hydra", "")


A, B, CUDA = mpi("mpich"), mpi("intelmpi"), mpi("openmpi", "installed")


def test_the_mpi_in_use_decides() -> None:
    assert conclusion([(A, IPC), (B, NO)]).status == "ok"
    other = conclusion([(A, NO), (CUDA, IPC)])
    assert (other.status, other.do) == ("warn", "slowpath run --mpi cuda")
    assert conclusion([(A, NO), (B, IPC)]).do == "slowpath run --mpi /opt/intelmpi/mpiexec"
    none = conclusion([(A, NO), (B, NO)])
    assert none.status == "missing"
    assert "slowpath mpi install cuda" in (none.do or "")
    assert conclusion([(A, None), (B, NO)]).status == "warn"
    assert conclusion([]).status == "missing"


def test_without_a_gpu_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "gpu_count", lambda: (0, "no CUDA driver"))
    monkeypatch.setattr(gpu, "find_all", lambda: pytest.fail("looked for MPIs"))
    assert mpi_and_gpu_memory("all").means == "not tried: no CUDA driver"


@pytest.mark.parametrize(("is_there", "value"), [(True, "none"), (False, None)])
def test_a_missing_driver_is_known_by_itself_not_by_what_is_said_of_it(
    monkeypatch: pytest.MonkeyPatch, is_there: bool, value: str | None
) -> None:
    def driver() -> None:
        if not is_there:
            raise OSError

    monkeypatch.setattr(gpu, "gpu_count", lambda: (0, "another sentence"))
    monkeypatch.setattr(gpu, "_driver", driver)
    check = gpu.gpus()
    assert (check.value, check.do is None) == (value, not is_there)


def test_how_far_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def prove(which: Mpi, engine: object) -> DevicePath:
        tried.append(which.name)
        return IPC

    monkeypatch.setattr(gpu, "gpu_count", lambda: (1, None))
    monkeypatch.setattr(gpu, "find_all", lambda: [A, CUDA])
    monkeypatch.setattr(gpu, "kept_engine", lambda mpi: object() if mpi.name == "openmpi" else None)
    monkeypatch.setattr(gpu, "engine_for", lambda mpi, tell: object())
    monkeypatch.setattr(gpu, "prove_device_path", prove)
    assert mpi_and_gpu_memory("none").status == "warn"
    assert tried == []
    said: list[str] = []
    assert mpi_and_gpu_memory("built", said.append).status == "warn"
    assert tried == ["openmpi"]
    assert "some seconds" in said[0]
    assert mpi_and_gpu_memory("all").status == "ok"
    assert tried == ["openmpi", "mpich", "openmpi"]


def test_what_fails_on_the_way_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_engine(mpi: Mpi, tell: object) -> object:
        raise EnvironmentFailure("no mpicxx")

    def no_mpi() -> list[Mpi]:
        raise UsageError("SLOWPATH_MPI x: nothing there")

    monkeypatch.setattr(gpu, "gpu_count", lambda: (1, None))
    monkeypatch.setattr(gpu, "find_all", lambda: [A])
    monkeypatch.setattr(gpu, "engine_for", no_engine)
    assert "no (no engine: no mpicxx)" in (mpi_and_gpu_memory("all").value or "")
    monkeypatch.setattr(gpu, "find_all", no_mpi)
    assert "nothing there" in mpi_and_gpu_memory("built").means


# The proof, with planted jobs; with real MPIs: tests/engine/test_device_path_real.py.


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
    path = prove_device_path(*planted(tmp_path, "time.sleep(1000)"), os.environ, limit_s=1.0)
    assert path == DevicePath(False, None, None, None, "hung: not done after 1 s")


def test_a_crash_is_no(tmp_path: Path) -> None:
    path = prove_device_path(*planted(tmp_path, "os.kill(os.getpid(), 11)"))
    assert (path.works, path.reason) == (False, "crashed by SIGSEGV, without a message")


@pytest.mark.parametrize(
    ("device_us", "path"), [(1000.0, "ipc"), (5000.0, None), (9000.0, "staged"), (90000.0, "staged")]
)
def test_the_path_by_the_ratio(tmp_path: Path, device_us: float, path: str | None) -> None:
    body = f"print({TABLE!r}.format(first=1e5, later={device_us} if memory == 'device' else 10000.0))"
    proven = prove_device_path(*planted(tmp_path, body))
    assert (proven.works, proven.path) == (True, path)
    assert proven.device_bytes_per_s == pytest.approx(67108864 / (device_us * 1e-6))
    assert proven.host_bytes_per_s == pytest.approx(67108864 / 0.01)
    assert (proven.reason is None) == (path is not None)


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
    judged = three(tmp_path, 1645.0, 1657.0, 5412.0, "cuda_copy", transport)
    assert (judged.path, judged.method, judged.agrees) == ("staged", "reference", True)
    assert judged.reference_bytes_per_s == pytest.approx(67108864 / 1657e-6)
    assert judged.reason is None


HOST = Transfer(10.0, None)


@pytest.mark.parametrize(
    ("device", "reference", "path"),
    [(20.0, 10.0, "ipc"), (15.0, 10.0, "ipc"), (13.0, 10.0, None), (12.0, 10.0, "staged"), (5.0, 10.0, "staged")],
)
def test_limits_against_the_reference(device: float, reference: float, path: str | None) -> None:
    judged = judge(Transfer(device, None), Transfer(reference, None), HOST)
    assert (judged.path, judged.method) == (path, "reference")
    assert (judged.reason is None) == (path is not None)


def test_the_reference_leaves_alone_what_the_user_set() -> None:
    assert variables_without_ipc("openmpi", "ucx", {}) == ({"UCX_TLS": "^cuda_ipc"}, None)
    assert variables_without_ipc("openmpi", None, {})[0] == {}
    without, why_not = variables_without_ipc("mpich", None, {})
    assert set(without) == {"MPIR_CVAR_CH4_IPC_GPU_P2P_THRESHOLD", "MPIR_CVAR_CH4_IPC_MAP_REPEAT_ADDR"}
    assert why_not is None
    variables, why = variables_without_ipc("openmpi", "ucx", {"UCX_TLS": "all"})
    assert variables == {}
    assert "UCX_TLS is set" in (why or "")


# UCX's account of its protocols: tables as UCX 1.22 prints them, cut short in places.


# The first table is a rank talking to itself, the second as printed on host memory, the third has device memory.
TEXT = """
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
[1795177234.894242] [vm:16169:0]   | ucp_context_0 self cfg#0                                                |
[1795177234.894242] [vm:16169:0]   | tagged message by ucp_tag_send* from host memory                        |
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
[1795177234.894242] [vm:16169:0]   |   Range   |                  Description                  |   Config    |
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
[1795177234.894242] [vm:16169:0]   | 2285..inf | (?) rendezvous copy from mapped remote memory | self/memory |
[1795177234.894242] [vm:16169:0]   +-----------+-----------------------------------------------+-------------+
8    1.0    0.5
[1795177234.895196] [vm:16169:0]   | ucp_context_0 intra-node cfg#1                                      |
[1795177234.895196] [vm:16169:0]   | tagged message by ucp_tag_send*(fast-completion) from host memory   |
[1795177234.895196] [vm:16169:0]   +-----------+-------------------------------------------+-------------+
[1795177234.895196] [vm:16169:0]   |   Range   |                Description                |   Config    |
[1795177234.895196] [vm:16169:0]   |         0 | eager short                               | sysv/memory |
[1795177234.895196] [vm:16169:0]   |  1..5028  | eager copy-in copy-out                    | sysv/memory |
[1795177234.895196] [vm:16169:0]   |  256K..inf | (?) rendezvous zero-copy read from remote | cma/memory  |
  | ucp_context_0 intra-node cfg#1                                                     |
  | rendezvous data fetch into cuda/GPU0 memory from cuda                              |
  |      0 | no data fetch                               |                             |
  | 1..inf | zero-copy read from remote                  | cuda_ipc/cuda               |
"""
LARGE = 64 << 20


def test_tables_become_rows() -> None:
    rows = protocols(TEXT)
    assert [p.scope for p in rows] == ["self", *["intra-node"] * 5]
    assert rows[1].operation == "tagged message by ucp_tag_send*(fast-completion) from host memory"
    assert (rows[1].first_bytes, rows[1].last_bytes, rows[1].how) == (0, 0, "eager short")
    assert (rows[3].first_bytes, rows[3].last_bytes) == (256 << 10, math.inf)
    assert (rows[3].how, rows[3].transports) == ("rendezvous zero-copy read from remote", "cma/memory")
    assert rows[5].operation == "rendezvous data fetch into cuda/GPU0 memory from cuda"


def test_what_moves_a_message_to_another_process() -> None:
    rows = moving(protocols(TEXT), LARGE)
    assert [p.transports for p in rows] == ["cma/memory", "cuda_ipc/cuda"]
    assert [p.direct for p in rows] == [False, True]
    assert in_words(rows) == "rendezvous zero-copy read from remote on cma/memory; zero-copy read from remote on " + (
        "cuda_ipc/cuda"
    )
    assert [p.how for p in moving(protocols(TEXT), 0)] == ["eager short"]
