# SPDX-License-Identifier: Apache-2.0
"""GPU memory is part of a survey only under an MPI that was seen to take it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from slowpath.cli import diagnose
from slowpath.doctor import gpu
from slowpath.doctor.gpu import Transfer

BUILT: Any = SimpleNamespace(identity="mpich 5.0.2", mpi=None, engine=None)


def taken(
    monkeypatch: pytest.MonkeyPatch, count: int, transfer: Transfer | None, dry: bool = False
) -> tuple[int, list[str]]:
    """Devices that the survey uses, and what the user reads; found: None: no job may be started."""
    said: list[str] = []
    monkeypatch.setattr(gpu, "gpu_count", lambda: (count, None))
    monkeypatch.setattr(
        gpu, "transfer", lambda *_, **__: transfer if transfer is not None else pytest.fail("started a job")
    )
    count, launch_s = diagnose._gpus(BUILT, said.append, dry)
    assert (launch_s is not None) == (count > 0 and not dry)
    return count, said


def test_a_library_that_takes_it_is_diagnosed_with_all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken(monkeypatch, 2, Transfer(1e9, None)) == (2, [])


def test_one_that_crashes_is_diagnosed_without_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    count, said = taken(monkeypatch, 2, Transfer(None, "crashed by SIGSEGV, without a message"))
    assert count == 0
    assert said == [
        "GPU memory is left out: mpich 5.0.2: crashed by SIGSEGV, without a message; see slowpath doctor --gpu"
    ]
