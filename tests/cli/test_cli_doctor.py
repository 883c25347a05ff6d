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
from slowpath.doctor.registry import ASKED, CHECKS, LINES, PROOFS, as_json, as_table, as_text, run_checks

Slowpath = Callable[..., subprocess.CompletedProcess[str]]


def test_json_has_every_check(slowpath: Slowpath) -> None:
    done = slowpath("doctor", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert len(answer["checks"]) == len(CHECKS) + len(PROOFS)
    for check in answer["checks"]:
        assert check["status"] in ("ok", "warn", "missing")
        assert check["value"] or check["means"]
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
    assert "because: no driver" in as_table(checks, list(by_task.values()))
    assert "can't be measured: pinned host memory, GPU memory: no driver" in as_text(checks, list(by_task.values()))
    assert json.loads(as_json(checks, []))["checks"][0]["value"] is None


def test_cma_refusal_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "place_here", lambda: PlaceFacts(copy_errno=1, own_errno=1))
    assert registry.cma().value == "refused"
    assert registry.cma().means.startswith("a seccomp filter (EPERM) refuses copies between processes")


def test_fifteen_lines_answer_what_is_asked_and_keep_every_command() -> None:
    fine = [Check(name, f"value of {name}", "ok", "means") for name in (*ASKED, "clock")]
    wrong = [Check(f"trouble {n}", "value", "warn", "means " * 40, f"command {n}") for n in range(9)]
    can = abilities([*fine, *wrong])
    lines = as_text([*fine, *wrong[:2]], can).splitlines()
    assert [line.split(":")[0] for line in lines[: len(ASKED)]] == [f"ok {name}" for name in ASKED]
    assert [line for line in lines if line.startswith("  -> ")] == ["  -> command 0", "  -> command 1"]
    assert max(map(len, lines)) <= registry.WIDTH
    full = as_text([*fine, *wrong], can).splitlines()
    assert len(full) <= LINES
    assert "slowpath doctor --full" in full[-1]
