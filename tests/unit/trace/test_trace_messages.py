# SPDX-License-Identifier: Apache-2.0
"""Messages in traces: partners follow from the grid, both sides agree, and the files of both formats hold them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_trace_otf2 import printed
from test_trace_perfetto import decoded

from slowpath.core.plan import Cell
from slowpath.experiments.cannon.variants import ACROSS_NODES, YARDSTICKS
from slowpath.experiments.measured.series import SampleBlock
from slowpath.record.events import Intervals
from slowpath.report.trace.model import Trace, TraceThread
from slowpath.report.trace.otf2 import write_otf2
from slowpath.report.trace.read import KINDS, STYLES, Transfers, call_of, transfers_of
from slowpath.report.trace.write import write_perfetto

PARTS = {"total": 0, "dgemm": 1, "issue": 2, "wait": 4, "synchronise": 6}


def transfers(variant: str, ranks: int, n: int = 144, **more: str) -> list[Transfers]:
    found = [transfers_of({"variant": variant, "n": str(n), **more}, rank, ranks) for rank in range(ranks)]
    return [one for one in found if one is not None]


@pytest.mark.parametrize("ranks", [2, 4, 6, 9, 16])
@pytest.mark.parametrize("variant", [name for name, style in STYLES.items() if style.moves in ("send", "put")])
def test_every_send_is_received_by_its_partner(variant: str, ranks: int) -> None:
    each = transfers(variant, ranks)
    steps = each[0].grid.steps
    for step in range(steps):
        sent = {(m.flow, rank, m.partner, m.tag, m.bytes) for rank in range(ranks) for m in each[rank].started(step)}
        come = {(m.flow, m.partner, rank, m.tag, m.bytes) for rank in range(ranks) for m in each[rank].ended(step)}
        assert sent == come
        assert len({flow for flow, *_ in sent}) == len(sent)
        streams = (each[0].grid.rows > 1) + (each[0].grid.columns > 1)
        assert len(sent) == (ranks * streams if step + 1 < steps else 0)


def test_neighbours_and_lengths_of_a_grid_of_3_x_3() -> None:
    centre = transfers("isend_wait", 9)[4]
    assert [(m.partner, m.tag, m.bytes) for m in centre.started(0)] == [(3, 11, 48 * 48 * 8), (1, 12, 48 * 48 * 8)]
    assert [(m.partner, m.tag) for m in centre.ended(0)] == [(5, 11), (7, 12)]
    assert [(m.kind, m.partner) for m in centre.skewed()] == [
        ("send", 3), ("receive", 5), ("send", 1), ("receive", 7)]  # fmt: skip
    assert transfers("isend_wait", 9)[0].skewed() == []


def test_gets_read_panels_from_their_owners() -> None:
    """Rank (1, 1) of 3 x 3 multiplies with panel (2 + step) mod 3."""
    centre = transfers("get_from_home", 9)[4]
    assert [[(m.kind, m.partner) for m in centre.started(step)] for step in range(3)] == [
        [("get", 5), ("get", 7)], [("get", 3), ("get", 1)], []]  # fmt: skip
    assert centre.ended(0) == []


def test_every_style_has_its_calls() -> None:
    assert set(STYLES) == set(ACROSS_NODES) - set(YARDSTICKS)
    assert call_of({"variant": "sendrecv_replace"}, "wait") == "MPI_Sendrecv_replace"
    assert call_of({"variant": "isend_test"}, "test") == "MPI_Testall"
    assert call_of({"variant": "isend_test"}, "dgemm") == "dgemm"
    assert call_of({"variant": "sendrecv", "source": "root"}, "gather") == "MPI_Gather"
    assert [call_of({"variant": "pscw"}, "synchronise", place) for place in range(2)] == [
        "MPI_Win_start", "MPI_Win_wait"]  # fmt: skip


def test_every_region_has_the_name_of_one_call() -> None:
    named = [name for style in STYLES.values() for name in style.calls.values()]
    each = [name for one in named for name in ([one] if isinstance(one, str) else one)]
    assert all(re.fullmatch(r"MPI_\w+", name) for name in each)


def made(variant: str, ranks: int) -> Trace:
    """Two repetitions on a grid: dgemm, what starts, what ends; every rank at the same times."""
    cell = Cell(0, "k", "g", "all", "cannon", {"variant": variant, "n": "64", "pattern": "multiply"}, "e", "p")
    style = STYLES[variant]
    rows = []
    for rank in range(ranks):
        blocks, said = [], []
        inside = {"dgemm": (300, 100)} | ({style.starts: (0, 100), style.ends: (500, 100)} if style.moves else {})
        for part, (begin, length) in ({"total": (0, 1000)} | inside).items():
            begins = np.array([begin, begin + 2000])
            blocks.append(SampleBlock(**about(rank, PARTS[part]), duration_ns=np.array([length] * 2), start_ns=begins))
            said.append(Intervals(1, 0, rank, PARTS[part], (0,)))
        rows.append(TraceThread(rank, "n", None, KINDS["multiplication"].spans(cell, blocks, ranks, said)))
    return Trace(variant, None, rows)


def about(rank: int, part: int) -> dict[str, Any]:
    return {"rank": rank, "phase": "steady", "allocation": 0, "batch": 1, "seq0": 0, "part": part}


@pytest.mark.needs("otf2-print")
def test_otf2_print_shows_sends_and_receives(tmp_path: Path) -> None:
    text = printed(write_otf2(made("isend_wait", 4), tmp_path))
    sent = re.findall(r"^MPI_SEND +(\d+) +(\d+) +Receiver: (\d+) .*Tag: (\d+), Length: (\d+)", text, re.MULTILINE)
    come = re.findall(r"^MPI_RECV +(\d+) +(\d+) +Sender: (\d+) .*Tag: (\d+), Length: (\d+)", text, re.MULTILINE)
    assert len(sent) == len(come) == 4 * 2 * 2
    assert {(a, to, tag, length) for a, _, to, tag, length in sent} == {(a, to, t, n) for to, _, a, t, n in come}
    assert {(when, length) for _, when, _, _, length in sent} == {("0", "8192"), ("2000", "8192")}
    assert {when for _, when, *_ in come} == {"600", "2600"}
    assert 'Region: "MPI_Isend"' in text


@pytest.mark.needs("otf2-print")
def test_otf2_print_shows_puts(tmp_path: Path) -> None:
    text = printed(write_otf2(made("put_fence", 2), tmp_path))
    found = re.findall(r"^RMA_PUT +(\d+) +(\d+) .*Remote: (\d+) .*Bytes: (\d+)", text, re.MULTILINE)
    assert sorted(found) == [("0", "0", "1", "16384"), ("0", "2000", "1", "16384"),
                             ("1", "0", "0", "16384"), ("1", "2000", "0", "16384")]  # fmt: skip


@pytest.mark.needs("otf2-print")
def test_a_style_without_partners_has_no_messages(tmp_path: Path) -> None:
    trace = made("shared_direct", 4)
    assert trace.messages == 0
    assert "COMM" not in printed(write_otf2(trace, tmp_path), "-G")


def test_perfetto_joins_both_sides_by_flows(tmp_path: Path) -> None:
    events = [p.track_event for p in decoded(write_perfetto(made("isend_wait", 4), tmp_path)).packet]
    begun = list(itertools.chain.from_iterable(event.flow_ids for event in events))
    ended = list(itertools.chain.from_iterable(event.terminating_flow_ids for event in events))
    assert sorted(begun) == sorted(ended) == list(range(1, 17))
    start = next(event for event in events if event.flow_ids)
    assert {a.name: a.uint_value for a in start.debug_annotations}["send 1 bytes"] == 8192
