# SPDX-License-Identifier: Apache-2.0
"""The campaign of a program's messages, and which measurements may price them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slowpath.core.campaign import campaign_toml
from slowpath.core.errors import EnvironmentFailure
from slowpath.plan.campaign import decode
from slowpath.watch.conclude import Asking, asking
from slowpath.watch.prices import Price, Prices
from slowpath.watch.replay import campaign_of, launcher_of, outcome, prepared_for
from slowpath.watch.results import MessageClass, WatchResults
from slowpath.watch.what_if import CallOrder, KeptOrder
from support import watch_results as watched

MIB = 2**20


def a_load(number: int = 0, **changes: Any) -> MessageClass:
    fields: dict[str, Any] = {"call": "MPI_Send", "side": "send", "count": 1000, "bytes": 2000 * MIB, "transfer_s": 2.0}
    return watched.a_class(number, **(fields | changes))


def a_program(*classes: MessageClass) -> WatchResults:
    call = watched.CallCount(name="MPI_Send", family="point to point", calls=1, time_s=1.0, bytes=1)
    return watched.results(classes=classes, calls=(call,), findings=())


def asked(*classes: MessageClass) -> Asking:
    return asking(a_program(*classes), None)


def written(wanted: Asking, **changes: Any) -> dict[str, Any]:
    text = campaign_toml(campaign_of(wanted.questions, {}, **changes))
    decode(text.encode(), "replay")
    return tomllib.loads(text)


def test_each_kind_is_measured_as_it_is_and_without_its_fault() -> None:
    campaign = written(asked(a_load(), a_load(1, bytes=1000 * 65536, block_bytes=8, page_bytes=None)))
    cells = {table["name"]: table["parameters"] for table in campaign["cells"]}
    pages = next(parameters for name, parameters in cells.items() if name.endswith("small pages"))
    assert (pages["pages"], pages["message_bytes"]) == (["small", "huge"], str(2 * MIB))
    blocks = next(parameters for name, parameters in cells.items() if name.endswith("small blocks"))
    assert (blocks["pack"], blocks["datatype"], blocks["block_bytes"]) == (["none", "loop"], "vector", "8")
    for contrast in campaign["contrast"]:
        own = next(table for table in campaign["cells"] if table["name"] == contrast["cells"])["parameters"]
        assert [contrast["b"], contrast["a"]] == own[contrast["axis"]]


def test_blocks_on_one_side_alone_are_measured_one_way() -> None:
    """Round trips would pack in one direction and unpack in the other, and report the mean of both."""
    sides = [a_load(block_bytes=8), a_load(1, side="receive")]
    pairs = KeptOrder(CallOrder(*[np.zeros(0)] * 4, *[np.zeros((0, 3))] * 2), np.array([[0, 1]]))  # type: ignore[arg-type]
    campaign = written(asking(a_program(*sides), pairs))
    contrast = next(table for table in campaign["contrast"] if table["name"].endswith("small blocks"))
    own = next(table for table in campaign["cells"] if table["name"] == contrast["cells"])["parameters"]
    assert (own["datatype"], own["pattern"], contrast["metric"]) == ("vector:contiguous", "one_way", "one_way_s")
    both = written(asked(a_load(block_bytes=8)))
    assert {table["metric"] for table in both["contrast"]} == {"half_round_trip_latency_s"}


def test_messages_that_no_rule_names_are_measured_as_they_are() -> None:
    campaign = written(asked(a_load(page_bytes=2 * MIB)))
    assert "contrast" not in campaign or campaign["contrast"] == []
    (cell,) = campaign["cells"]
    assert (cell["parameters"]["pages"], cell["parameters"]["pattern"]) == ("huge", "ping_pong")


def test_first_uses_are_compared_with_later_ones_of_the_same_cell() -> None:
    campaign = written(asked(a_load(first=True)))
    (contrast,) = campaign["contrast"]
    assert (contrast["axis"], contrast["a"], contrast["b"], contrast["metric"]) == (
        "phase", "steady", "first", "one_way_s",
    )  # fmt: skip
    assert campaign["cells"][0]["parameters"]["pattern"] == "one_way"


def test_it_runs_under_the_programs_variables_and_between_nodes_where_most_bytes_go() -> None:
    wanted = asked(a_load())
    text = campaign_toml(campaign_of(wanted.questions, {"UCX_TLS": "tcp"}, ["UCX_NET_DEVICES"], nodes=2))
    campaign = tomllib.loads(text)
    assert campaign["environment"][0]["variables"] == {"UCX_TLS": "tcp"}
    assert campaign["environment"][0]["unset"] == ["UCX_NET_DEVICES"]
    assert campaign["placement"][0]["nodes"] == 2


@pytest.mark.parametrize("is_there", [True, False])
def test_an_engine_that_is_there_is_taken(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    """Whichever compiler made it: a replay compiles only where there is none."""
    asked_dry: list[bool] = []

    def prepare(*words: Any) -> Any:
        asked_dry.append(len(words) == 9)
        return SimpleNamespace(libraries=[SimpleNamespace(is_built=is_there or not asked_dry[-1])])

    monkeypatch.setattr("slowpath.watch.replay.prepare", prepare)
    monkeypatch.setattr("slowpath.watch.replay.launcher_of", lambda *_: "mpiexec")
    program = SimpleNamespace(results=a_program(a_load()), variables={})
    prepared, _ = prepared_for(program, asked(a_load()).questions, {}, print, None, None, 60, False)  # type: ignore[arg-type]
    assert prepared.libraries[0].is_built
    assert asked_dry == ([True] if is_there else [True, False])


def test_a_replay_says_what_was_measured_and_what_that_changes() -> None:
    question = asked(a_load()).questions[0]
    prices = Prices((Price(question, 2e-3, 1e-3, (0.5e-3, 2e-3)),), ())
    lossy = outcome(prices, watched.results(findings=(watched.a_finding(status="priced"),), accounts=()))
    assert lossy.startswith("Measured: 1 kind of messages, ")
    assert lossy.endswith(" costs 2.00 s [1.60, 2.40].")
    assert outcome(prices, watched.results(findings=(), accounts=())).endswith("in the program they take no longer.")
    assert outcome(Prices((), ()), watched.results()).startswith("Nothing measured")


def test_another_mpi_is_no_mpi_of_the_program(tmp_path: Path) -> None:
    program = watched.a_program(library="Open MPI v4.1.99, package: Debian", library_path=str(tmp_path / "libmpi.so"))
    with pytest.raises(EnvironmentFailure, match=r"the program ran with openmpi 4\.1\.99"):
        launcher_of(program, None, {"PATH": str(tmp_path)})
