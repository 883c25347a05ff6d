# SPDX-License-Identifier: Apache-2.0
"""Rows of the panel: kinds of calls, what lies outside, and what has no reference."""

from slowpath.analyse.deviations import calls_of
from slowpath.analyse.panel import kind_of_call, panel_rows, without_reference
from slowpath.analyse.reference import Item, Judged, Reference, items
from support.results import a_cell, a_metric

P2P = {"experiment": "p2p", "pattern": "one_way"}
DUPLICATE = {"experiment": "first_use", "pattern": "communicator", "made_by": "duplicate"}


def _item(cell: int, metric: str, value: float, phase: str = "steady", **traits: str) -> Item:
    """An item with an interval of 2 %."""
    return Item((f"{cell}", metric, phase), cell, metric, phase, value, (0.98 * value, 1.02 * value), 5, traits)


def _judged(item: Item, median: float) -> Judged:
    return Judged(item, Reference(median, 0.9 * median, 1.1 * median, 5, "this kind of machine"), 1.375 * median)


def test_a_kind_is_named_by_what_its_time_holds():
    whole = {**P2P, "message_bytes": "1048576", "completion": "wait"}
    bcast = {"experiment": "coll", "collective": "bcast", "message_bytes": "65536"}
    init = {"experiment": "first_use", "pattern": "init"}
    put = {"experiment": "put", "synchronise": "flush_all", "message_bytes": "8"}
    for named, metric, phase, traits in (
        ("MPI_Send, short", "send_s", "steady", {**P2P, "message_bytes": "8"}),
        ("MPI_Recv, short", "receive_s", "steady", {**P2P, "message_bytes": "8", "source": "any"}),
        ("MPI_Isend + Irecv + Wait, long, first use", "one_way_s", "first", whole),
        ("MPI_Put + flush, short", "time_per_put_s", "steady", put),
        ("MPI_Bcast, long", "collective_span_s", "steady", bcast),
        ("MPI_Comm_dup, first use", "communicator_s", "first", DUPLICATE),
        ("MPI_Init", "init_s", "first", init),
        ("job start: library load", "library_load_s", "first", init),
        ("shared window, first use", "shared_window_s", "first", {**init, "pattern": "shared_window"}),
    ):
        assert kind_of_call(_item(0, metric, 1e-6, phase, **traits)) == named


def test_what_completes_a_call_is_a_wait_on_its_request():
    asked = ({"call": "ibcast"}, {"call": "start", "request": "MPI_Bcast_init"}, {"call": "file_iread"})
    times = {"call_completion_s": a_metric(1e-6)}
    cells = [a_cell(experiment="first_use", parameters={"pattern": "call", **p}, metrics=times) for p in asked]
    waits = [(*calls_of(item), item.traits["request"]) for item in items(cells)]
    assert waits == [("MPI_Wait", made) for made in ("MPI_Ibcast", "MPI_Bcast_init", "MPI_File_iread")]


def test_rows_outside_come_first_and_speak_of_the_times_outside():
    duplicate = _judged(_item(9, "communicator_s", 25e-3, **DUPLICATE), 15e-6)
    sends = [_judged(_item(n, "send_s", 1e-6, message_bytes="8", **P2P), 1e-6) for n in range(4)]
    slow = [_judged(_item(n, "send_s", n * 1e-6, message_bytes="8", **P2P), 1e-6) for n in (5, 6, 7)]
    first = _judged(_item(1, "send_s", 1e-6, "first", message_bytes="8", **P2P), 1e-6)
    rows = panel_rows([first, *sends, *slow, duplicate])
    assert [(row.name, row.outside, row.cells) for row in rows] == [
        ("MPI_Comm_dup", 1, 1),
        ("MPI_Send, short", 3, 7),
        ("MPI_Send, short, first use", 0, 1),
    ]
    assert (round(rows[1].ratio, 6), round(rows[1].worst_ratio, 6), rows[1].value_s) == (6.0, 7.0, 6e-6)
    assert (round(rows[1].low_ratio, 6), round(rows[1].high_ratio, 6), rows[1].limit_ratio) == (0.9, 1.1, 1.375)


def test_undecided_rows_come_after_those_outside() -> None:
    wide = Item(("w", "communicator_s", "steady"), 1, "communicator_s", "steady", 9e-6, (1e-6, 20e-6), 5, DUPLICATE)
    slow = _judged(_item(5, "send_s", 5e-6, message_bytes="8", **P2P), 1e-6)
    usual = _judged(_item(6, "init_s", 1.0, experiment="first_use", pattern="init"), 1.0)
    rows = panel_rows([usual, _judged(wide, 1e-6), slow])
    assert [row.standing for row in rows] == ["slower", "undecided", "inside"]


def test_a_time_of_zero_is_no_row():
    assert panel_rows([_judged(_item(0, "exposed_s", 0.0, message_bytes="8", **P2P), 0.0)]) == []


def test_what_no_healthy_run_has_is_counted_by_kind():
    known = _item(0, "send_s", 1e-6, message_bytes="8", **P2P)
    new = [_item(n, "communicator_s", 1e-6, **DUPLICATE) for n in (1, 2)]
    assert without_reference([known, *new], [_judged(known, 1e-6)]) == {"MPI_Comm_dup": 2}
