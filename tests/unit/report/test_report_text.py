# SPDX-License-Identifier: Apache-2.0
"""What a terminal gets: numbers, columns, libraries."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from slowpath.analyse.build import run_facts
from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import VerdictWord
from slowpath.core.results import ContrastResult, Results
from slowpath.core.units import format_time
from slowpath.findings.conclude import conclude
from slowpath.report import format as fmt
from slowpath.report.cells import libraries_answer
from slowpath.report.csv import cells_csv, contrasts_csv
from slowpath.report.osu import as_text, cell_lines, missing_kinds, missing_words, tables_of
from slowpath.report.run_page import render_html, status_note, summary
from slowpath.report.terminal import render_brief, render_text
from slowpath.report.write import write_all
from support.results import a_cell, a_contrast, a_metric, a_run, a_side, an_estimate, an_mpi, results
from support.results import results as a_document


def test_text_begins_with_the_verdict_and_fits_the_terminal(results: Results) -> None:
    text = render_text(results)
    assert text.startswith(results.verdict.headline)
    assert max(map(len, text.splitlines())) <= 100
    assert text.endswith("\n")
    assert text.isascii()


def test_text_names_every_contrast_skip_and_the_report(results: Results) -> None:
    text = render_text(results)
    for contrast in results.contrasts:
        assert fmt.ratio(contrast.ratio, contrast.interval).replace("×", "x").replace("–", "-") in text
    assert "no GPU driver: libcuda.so.1 was not found" in " ".join(text.split())
    assert "Not compared (1 contrast): no samples of b." in text
    assert text.rstrip().endswith("report.html")


def test_cells_csv_reads_back_exactly(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(cells_csv(results))))
    first = results.cells[0].metrics["half_round_trip_latency_s"].phases["steady"]
    assert float(rows[0]["value"]) == first.value
    assert float(rows[0]["interval_low"]) == (first.interval or (0,))[0]
    assert rows[0]["p999"] == ""
    assert json.loads(rows[0]["parameters"]) == results.cells[0].parameters
    skipped = [row for row in rows if row["status"] == "skipped"]
    assert [row["value"] for row in skipped] == ["", ""]
    assert all(row["reason"] for row in skipped)
    assert {int(row["cell"]) for row in rows} == {cell.cell for cell in results.cells}


def test_contrasts_csv_reads_back_exactly(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(contrasts_csv(results))))
    assert [row["id"] for row in rows] == [contrast.id for contrast in results.contrasts]
    assert float(rows[0]["ratio"]) == results.contrasts[0].ratio
    assert rows[0]["b_phase"] == "first"
    assert rows[0]["interleaved"] == "true"
    assert rows[-1]["ratio"] == ""


def test_write_all_leaves_five_whole_files(tmp_path: Path, results: Results) -> None:
    paths = write_all(tmp_path, results)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    assert len(paths) == 5
    assert msgspec.json.decode((tmp_path / "results.json").read_bytes(), type=Results) == results
    before = (tmp_path / "report.html").read_bytes()
    write_all(tmp_path, results)
    assert (tmp_path / "report.html").read_bytes() == before


@pytest.mark.parametrize(
    ("value", "interval", "shown", "ends"),
    [
        (2.919e-3, [2.81e-3, 3.03e-3], "2.92 ms", "[2.81, 3.03] ms"),
        (1.5e-6, None, "1.50 us", None),
        (0.4542, [0.4532, 0.4552], "454.2 ms", "[453.2, 455.2] ms"),
        (None, None, "–", None),
    ],
)
def test_times_are_rounded_to_their_interval(
    value: float | None, interval: list[float] | None, shown: str, ends: str | None
) -> None:
    assert fmt.time(value, interval) == shown
    assert fmt.quantity_interval(value, "s", interval) == ends


def test_rates_and_lengths() -> None:
    assert fmt.quantity(46.0e9, "B/s") == "46.0 GB/s"
    assert fmt.quantity_interval(46.0e9, "B/s", [45e9, 47e9]) == "[45.0, 47.0] GB/s"
    assert fmt.count_bytes((1 << 30) + 1) == "1 GiB + 1 B"
    assert fmt.duration(3725) == "62 min 5 s"
    assert fmt.plural(1, "launch") == "1 launch"
    assert fmt.plural(3, "launch") == "3 launches"
    assert fmt.plural(2, "property") == "2 properties"


def test_the_head_names_every_mpi_that_was_measured_and_how_to_measure_the_rest() -> None:
    mpis = [
        an_mpi(),
        an_mpi("openmpi", name="openmpi", version="5.0.11"),
        an_mpi("intelmpi", name="intelmpi", version=None, unavailable="not found"),
    ]
    head = summary(a_document(run=a_run(mpis=mpis)))
    assert "mpich 5.0.2, openmpi 5.0.11" in head
    assert not any("intelmpi" in part for part in head)
    old = a_run(mpis=[an_mpi(None, version=None)])
    assert "mpich" in summary(a_document(run=replace(old, mpis=[])))
    lacking = replace(old, launches=replace(old.launches, planned=48, done=47, failed=2))
    assert (status_note(lacking) or "").startswith("47 of 48 launches ended; 2 launches failed. What is left, hung")
    assert (status_note(old), status_note(replace(lacking, imported=True))) == (None, None)


GROUP = "openmpi against mpich: lengths"


def between(where: str, ratio: float, verdict: VerdictWord | None) -> ContrastResult:
    return a_contrast(
        f"{GROUP} {where}", ratio, group=GROUP, axis="mpi", a=a_side(0, "mpich", label=where),
        b=a_side(1, "openmpi", label=where), where=where, default_side=None, interval=(ratio * 0.99, ratio * 1.01),
        verdict=verdict,
    )  # fmt: skip


def line(contrasts: Sequence[ContrastResult]) -> str:
    (only,) = conclude(contrasts, []).verdict.lines
    assert only.level == "info"
    return only.text


def test_how_often_and_where_most() -> None:
    contrasts = [
        between("8 B", 1.5, "slower"),
        between("64 B", 2.0, "slower"),
        between("1 MiB", 0.5, "faster"),
        between("1 KiB", 1.0, "same"),
        between("2 KiB", 1.1, "undecided"),
    ]
    slow, usual, fast = (format_time(value_s) for value_s in (2e-6, 1e-6, 5e-7))
    assert line(contrasts) == (
        "openmpi against mpich: lengths: openmpi is slower in 2 of 5, most at 64 B: 2.000x [1.980, 2.020] as "
        "long, "
        f"{slow} vs {usual}; faster in 1 of 5, most at 1 MiB: 0.5000x [0.4950, 0.5050] as long, "
        f"{fast} vs {usual}; "
        "the same within 3 % in 1 of 5; undecided in 1 of 5."
    )


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
    assert "# Slowpath collective (allreduce, on the slowest rank)" in text
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
    assert "overlap: coll cells with pattern=overlap" in words
    assert "latency" not in words
    assert words.endswith("run: slowpath run numbers")


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
    page = render_html(replace(made, verdict=verdict))
    section = page[page.index('<section id="numbers"') : page.index('<section id="spread"')]
    assert section.count("<tr>") == 6, "a head and a row for each cell"
    assert "10.00" in section
    assert "<details" not in section, "the numbers are what this run is about"


@pytest.mark.parametrize(
    ("factor", "said"), [(1.5, "mpich is faster than openmpi: openmpi takes 1.4"), (1.0, "Neither")]
)
def test_of_two_libraries_one_sentence_says_which_is_faster(factor: float, said: str) -> None:
    rng = np.random.default_rng(1)
    cells = []
    for number in range(12):
        base = 1e-6 * np.exp(rng.normal(0, 0.01, (2, 8)))
        for side, mpi in enumerate(("mpich", "openmpi")):
            values = [float(value) for value in base[side] * (factor if side else 1.0)]
            metrics = {"half_round_trip_latency_s": a_metric(an_estimate(values[0], launch_values=values))}
            parameters = {"pattern": "ping_pong", "message_bytes": str(8 << number)}
            label = f"{mpi}, {8 << number} B"
            cells.append(a_cell(2 * number + side, mpi=mpi, label=label, parameters=parameters, metrics=metrics))
    made = results(cells)
    (sentence,) = libraries_answer(made)
    assert sentence.startswith(said)
    assert "[" in sentence
    assert "(mpich 12, openmpi 0 of 12 cells)" in sentence or factor == 1.0
    page = re.sub(r"<[^>]*>", "", render_html(made))
    assert sentence.split(":")[0] in page
    assert sentence.split(":")[0] in render_brief(made)
    assert libraries_answer(results(cells[::2])) == []
