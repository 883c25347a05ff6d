# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth in the columns of OSU's tables: which cells, what readers of OSU's take, the head."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from slowpath.analyse.build import run_facts
from slowpath.core.cell_results import CellResult
from slowpath.findings.conclude import conclude
from slowpath.report.osu import as_text, cell_lines, missing_kinds, missing_words, tables_of
from slowpath.report.text import render_brief, render_text
from support.results import a_cell, a_metric, a_run, an_estimate, an_mpi, results

OSU_ROW = re.compile(r"^(\d+)\s+(\d[\d.]*)", re.MULTILINE)  # as harnesses read osu_latency and osu_bw
RUN = a_run(mpis=[an_mpi(), an_mpi("openmpi", name="openmpi", version="5.0.11")])


def ping_pong(number: int, size: int, value_s: float, **changes: Any) -> CellResult:
    given = {"pattern": "ping_pong", "message_bytes": str(size), "memory": "host", "samples": "60"}
    given |= changes.pop("parameters", {})
    return a_cell(number, parameters=given, metrics={"half_round_trip_latency_s": a_metric(value_s)}, **changes)


def windowed(number: int, size: int, value_s: float, **parameters: str) -> CellResult:
    rate = size / value_s
    estimate = an_estimate(
        value_s,
        bandwidth_bytes_per_s=rate,
        bandwidth_interval=(0.9 * rate, 1.1 * rate),
        message_rate_per_s=1 / value_s,
    )
    given = {"pattern": "windowed", "message_bytes": str(size), "in_flight": "8", **parameters}
    return a_cell(number, parameters=given, metrics={"time_per_message_s": a_metric(estimate)})


def unwrapped(text: str) -> str:
    """Heads without the breaks that keep them as narrow as a terminal."""
    return text.replace("\n#   ", " ")


def test_what_reads_osu_s_tables_reads_this() -> None:
    made = results([ping_pong(0, 64, 0.3e-6), ping_pong(1, 8, 0.26e-6), windowed(2, 65536, 10e-6)], run=RUN)
    latency, bandwidth = as_text(made, tables_of(made)).split("\n\n")
    assert OSU_ROW.findall(latency) == [("8", "0.260"), ("64", "0.300")]
    assert OSU_ROW.findall(bandwidth) == [("65536", "6553.60")]
    assert "# Size Latency (us) Low (us) High (us)\n" in latency
    assert "# Size Bandwidth (MB/s) Low (MB/s) High (MB/s)\n" in bandwidth
    assert latency.splitlines()[-1].split() == ["64", "0.300", "0.297", "0.303"]
    assert "; launches: 8\n" in latency
    few = a_cell(1, parameters={**made.cells[0].parameters, "message_bytes": "8"}, metrics=made.cells[1].metrics)
    few.metrics["half_round_trip_latency_s"] = a_metric(an_estimate(0.26e-6, launches=3))
    made = results([made.cells[0], few], run=RUN)
    lines = as_text(made, tables_of(made)).splitlines()
    assert [line.split()[-1] for line in lines[-3:]] == ["Launches", "3", "8"]


def test_the_head_says_what_a_number_is() -> None:
    made = results([ping_pong(0, 8, 1e-6), windowed(1, 8, 1e-6)], run=RUN)
    heads = [line for line in unwrapped(as_text(made, tables_of(made))).splitlines() if line.startswith("#")]
    text = "\n".join(heads)
    assert "not OSU's program" in text
    assert "median over launches" in text
    assert "8 in flight" in text
    assert [line for line in heads if "mpich 5.0.2" in line] == [
        "# Run 20260101-000000, mpich 5.0.2; environment default, placement bound"
    ] * 2, "in_flight is no matter of a latency, and stands in the first line of a bandwidth"


def test_a_table_for_each_condition_and_no_cell_twice() -> None:
    made = results(
        [
            ping_pong(0, 8, 1e-6),
            ping_pong(1, 8, 2e-6, mpi="openmpi"),
            ping_pong(2, 8, 3e-6, parameters={"memory": "pinned_host"}),
            ping_pong(3, 8, 9e-6, parameters={"samples": "7"}),  # the same with less effort, from another group
            ping_pong(4, 8, 9e-6, copy=2),
        ],
        run=RUN,
    )
    tables = tables_of(made)
    assert [(table.where["mpi"], table.where["memory"], len(table.rows)) for table in tables] == [
        ("mpich", "host", 1),
        ("openmpi", "host", 1),
        ("mpich", "pinned_host", 1),
    ]
    assert tables[0].rows[0].value == pytest.approx(1.0)
    assert "openmpi 5.0.11; environment default, placement bound, memory host" in unwrapped(as_text(made, tables))


def test_a_collective_has_least_median_and_tail_over_calls_and_launches() -> None:
    estimate = an_estimate(2e-6, min=1e-6, p50=2.5e-6, p90=3e-6, p99=9e-6, max=50e-6, samples=1600)
    given = {"pattern": "calls", "collective": "allreduce", "message_bytes": "8"}
    cell = a_cell(0, experiment="coll", parameters=given, metrics={"collective_own_s": a_metric(estimate)})
    made = results([cell], run=RUN)
    text = unwrapped(as_text(made, tables_of(made)))
    assert "# Slowpath collective (allreduce, time in the call on the slowest rank)" in text
    numbers = text.splitlines()[-1].split()
    assert numbers[:8] == ["8", "2.000", "1.000", "50.000", "1600", "2.500", "3.000", "9.000"]
    slow = an_estimate(0.5, min=0.4, p50=0.5, p90=0.6, p99=0.8, max=0.99, samples=160_000, interval=(0.4, 0.6))
    given = {**given, "message_bytes": "4194304"}
    cell = a_cell(0, experiment="coll", parameters=given, metrics={"collective_own_s": a_metric(slow)})
    made = results([cell], run=RUN)
    assert max(map(len, as_text(made, tables_of(made)).splitlines())) <= 80


def test_one_line_says_what_is_missing_and_what_to_run() -> None:
    made = tables_of(results([ping_pong(0, 8, 1e-6)], run=RUN))
    words = missing_words(missing_kinds(made))
    assert "\n" not in words
    assert "overlap: coll cells with pattern=overlap and start=nonblocking" in words
    assert "latency" not in words
    assert words.endswith("To measure: slowpath run numbers")


def test_a_run_that_asks_nothing_has_a_row_for_each_cell_within_the_terminal() -> None:
    cells = [ping_pong(number, 8 << number, 1e-6, label=f"{8 << number} B") for number in range(5)]
    lines = cell_lines(results(cells, run=RUN))
    assert sum(" 1.00 us " in line or " 1.000 us " in line for line in lines) == 5
    assert max(map(len, lines[:-1])) <= 100
    many = [ping_pong(number, 8 + number, 1e-6) for number in range(90)]
    assert cell_lines(results(many, run=RUN))[-1].startswith("30 more rows, and tables in OSU's format: slowpath table")


def test_a_run_that_asks_nothing_ends_with_its_numbers() -> None:
    cells = [
        a_cell(
            number,
            experiment="coll",
            label=f"{8 << number} B",
            parameters={"pattern": "calls", "collective": "allreduce", "message_bytes": str(8 << number)},
            metrics={"collective_own_s": a_metric(an_estimate(2e-6 * (number + 1)))},
        )
        for number in range(5)
    ]
    made = results(cells)
    verdict = conclude([], [], run_facts(made)).verdict
    assert verdict.state == "nothing asked"
    for text in (render_brief(replace(made, verdict=verdict)), render_text(replace(made, verdict=verdict))):
        assert [f" {time} us " in text for time in ("2.00", "10.00")] == [True, True], text
        assert "slowpath table" in text
