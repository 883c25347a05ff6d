# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth in the columns of OSU's tables: which cells, what readers of OSU's take, the head."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slowpath.core.cell_results import CellResult
from slowpath.core.errors import UsageError
from slowpath.report.csv import rows_as_csv
from slowpath.report.osu_table import BANDWIDTH, LATENCY, as_records, as_text, tables_of
from support.results import a_cell, a_metric, a_run, an_estimate, an_mpi, results

OSU_ROW = re.compile(r"^(\d+)\s+(\d[\d.]*)", re.MULTILINE)  # as harnesses read osu_latency and osu_bw
RUN = a_run(mpis=[an_mpi(), an_mpi("openmpi", name="openmpi", version="5.0.11")])


def ping_pong(number: int, size: int, value_s: float, **changes: Any) -> CellResult:
    given = {"pattern": "ping_pong", "message_bytes": str(size), "memory": "host", "samples": "60"}
    given |= changes.pop("parameters", {})
    return a_cell(number, parameters=given, metrics={LATENCY.metric: a_metric(value_s)}, **changes)


def windowed(number: int, size: int, value_s: float) -> CellResult:
    rate = size / value_s
    estimate = an_estimate(value_s, bandwidth_bytes_per_s=rate, bandwidth_interval=(0.9 * rate, 1.1 * rate))
    given = {"pattern": "windowed", "message_bytes": str(size), "in_flight": "8"}
    return a_cell(number, parameters=given, metrics={BANDWIDTH.metric: a_metric(estimate)})


def test_what_reads_osu_s_tables_reads_this() -> None:
    made = results([ping_pong(0, 64, 0.3e-6), ping_pong(1, 8, 0.26e-6), windowed(2, 65536, 10e-6)], run=RUN)
    latency, bandwidth = as_text(made, tables_of(made)).split("\n\n")
    assert OSU_ROW.findall(latency) == [("8", "0.260"), ("64", "0.300")]
    assert OSU_ROW.findall(bandwidth) == [("65536", "6553.60")]
    assert "# Size                Latency (us)" in latency
    assert "# Size            Bandwidth (MB/s)" in bandwidth
    assert latency.splitlines()[-1].split() == ["64", "0.300", "0.297", "0.303", "8"]


def test_the_head_says_what_a_number_is() -> None:
    made = results([ping_pong(0, 8, 1e-6), windowed(1, 8, 1e-6)], run=RUN)
    heads = [line for line in as_text(made, tables_of(made)).splitlines() if line.startswith("#")]
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
    assert "openmpi 5.0.11; environment default, placement bound, memory host" in as_text(made, tables)


def test_no_interval_is_nan_in_the_table_and_missing_in_rows() -> None:
    cell = ping_pong(0, 8, 1e-6)
    cell = a_cell(0, parameters=cell.parameters, metrics={LATENCY.metric: a_metric(an_estimate(1e-6, interval=None))})
    made = results([cell], run=RUN)
    assert as_text(made, tables_of(made)).splitlines()[-1].split() == ["8", "1.000", "nan", "nan", "8"]
    (row,) = as_records(made, tables_of(made))
    assert (row["low"], row["high"], row["mpi"], row["message_bytes"]) == (None, None, "mpich", 8)
    head, line = rows_as_csv([row]).splitlines()
    assert dict(zip(head.split(","), line.split(","), strict=True))["low"] == ""


def test_a_run_without_such_cells_is_an_error_that_says_what_has_them() -> None:
    other = a_cell(0, parameters={"pattern": "one_way", "message_bytes": "8"})
    with pytest.raises(UsageError, match="no measured cell with pattern=windowed; slowpath run checkup has both"):
        tables_of(results([other, ping_pong(1, 8, 1e-6)]), [BANDWIDTH])
