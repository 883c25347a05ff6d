# SPDX-License-Identifier: Apache-2.0
"""A tuning that was stopped: which variables of its folder are its own, and what becomes of a step without a run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slowpath.diagnose.tune.session import Session

OWN = {"SLOWPATH_COLL": "/tuned/candidates/tuning.json"}
TEXT = SimpleNamespace(rounds=1)


class Stopped(Exception):
    """Whatever measures is not part of these tests."""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """One whose runs are read as interrupted, whatever they hold."""
    interrupted: Any = SimpleNamespace(run=SimpleNamespace(status="interrupted"))
    monkeypatch.setattr("slowpath.diagnose.tune.session.rebuild", lambda run: interrupted)
    request: Any = SimpleNamespace(mpi=None, ranks=(2,))
    preload = Path("/cache/libslowpath-coll.so")
    return Session(tmp_path, request, None, {}, lambda _: None, True, (), 2, preload=preload)  # type: ignore[arg-type]


def test_a_step_is_continued_with_the_variables_that_the_tuning_itself_sets(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = session.folder / "prove-1-2"
    run.mkdir()
    (run / "run.json").write_text(json.dumps({}))
    asked: list[Any] = []
    monkeypatch.setattr("slowpath.diagnose.tune.session.resume", lambda *words: asked.append(words[-1]))
    session._measured("prove-1-2", TEXT, 2, OWN)  # type: ignore[arg-type]
    (terms,) = asked
    assert dict(terms.own) == {**OWN, "LD_PRELOAD": "/cache/libslowpath-coll.so"}
    assert terms.trust is False


def test_what_a_full_disk_left_of_a_step_is_begun_anew(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run = session.folder / "verify-1-2"
    run.mkdir()
    (run / "campaign.toml").write_text("")

    def stop(*_: object) -> None:
        raise Stopped

    monkeypatch.setattr(Session, "_within", stop)
    with pytest.raises(Stopped):
        session._measured("verify-1-2", TEXT, 2, OWN)  # type: ignore[arg-type]
    assert not run.exists()
