# SPDX-License-Identifier: Apache-2.0
"""The doctor answers everything, whatever the machine has."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from slowpath.core.machine import PlaceFacts
from slowpath.doctor import registry
from slowpath.doctor.check import NEEDS, Check, abilities
from slowpath.doctor.registry import CHECKS, PROOFS, as_json, as_text, run_checks

Slowpath = Callable[..., subprocess.CompletedProcess[str]]


def test_json_has_every_check(slowpath: Slowpath) -> None:
    done = slowpath("doctor", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["checks"]) == len(CHECKS) + len(PROOFS)
    for check in answer["checks"]:
        assert check["status"] in ("ok", "warn", "missing")
        assert check["means"]
        assert "failed itself" not in check["means"]
    assert len(answer["possible"]) == len(NEEDS)


def test_needs_name_checks_that_exist() -> None:
    names = {check.name for check in run_checks()}
    assert {name for _, needed in NEEDS for name in needed} <= names


def test_a_failing_check_spoils_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def odd_check() -> Check:
        raise ValueError("odd")

    monkeypatch.setattr(registry, "CHECKS", (odd_check, CHECKS[-1]))
    monkeypatch.setattr(registry, "PROOFS", ())
    first, second = run_checks()
    assert first.status == "warn"
    assert "ValueError: odd" in first.means
    assert second.status == "ok"


def test_what_is_missing_is_impossible_and_says_why() -> None:
    checks = [Check("GPU", None, "missing", "no driver"), Check("CMA", "refused", "warn", "seccomp")]
    by_task = {ability.task: ability for ability in abilities(checks)}
    assert [ability.why for ability in by_task.values() if not ability.possible] == [
        "seccomp",
        "no driver",
        "no driver",
    ]
    text = as_text(checks, list(by_task.values()))
    assert "because: no driver" in text
    assert json.loads(as_json(checks, []))["checks"][0]["value"] is None


def test_cma_refusal_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "place_here", lambda: PlaceFacts(copy_errno=1, own_errno=1))
    assert registry.cma().value == "refused"
    assert registry.cma().means.startswith("a seccomp filter refuses an 8 KiB copy between two processes (EPERM)")
