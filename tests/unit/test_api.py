# SPDX-License-Identifier: Apache-2.0
"""slowpath.open: the same numbers as results.json, samples as arrays, and nothing read before it is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import pytest

import slowpath
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.results import Results
from slowpath.record.imports.choose import import_files
from slowpath.report.api import Run
from watchdog import WATCHDOG_S

FIELD = Path(__file__).parents[1] / "data" / "field"
TABLES = Path(__file__).parent / "imports" / "data"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    logs = [FIELD / "overalloc-1B.txt", FIELD / "host-bound.txt"]
    return slowpath.open(import_files(logs, tmp_path_factory.mktemp("api") / "run"))


def test_cells_and_contrasts_are_those_of_results_json(run: Run) -> None:
    assert msgspec.convert(run.to_dict(), Results) == run.results
    assert [cell.to_dict() for cell in run.cells] == run.to_dict()["cells"]
    assert [contrast.to_dict() for contrast in run.contrasts] == run.to_dict()["contrasts"]
    json.dumps(run.to_dict(), allow_nan=False)
    assert run.info.imported


def test_values_are_what_the_estimate_rests_on(run: Run) -> None:
    cell = run.cell(0)
    assert cell is run.cell(cell.label)
    for phase in ("first", "steady"):
        estimate = cell.estimate(phase=phase)
        assert estimate is not None
        (values,) = cell.values_s("send_barrier_s", phase).values()
        assert values.dtype == np.float64
        assert values.shape == (estimate["samples"],)
        assert np.median(values) == pytest.approx(estimate["p50"])


def test_samples_are_the_records_integers(run: Run) -> None:
    cell = run.cell(0)
    first = list(cell.samples("first"))
    assert {block.phase for block in first} == {"first"}
    assert all(block.duration_ns.dtype == np.int64 and block.batch == 1 for block in first)
    values = np.concatenate([block.duration_ns for block in first]) * 1e-9
    # The log's first allocation is a warm-up: recorded, and not behind the estimate.
    np.testing.assert_allclose(np.sort(values[1:]), np.sort(next(iter(cell.values_s(None, "first").values()))))
    assert len(list(cell.samples())) > len(first)
    assert list(cell.samples(launch=99)) == []


def test_pairs_and_intervals(run: Run) -> None:
    contrast = next(c for c in run.contrasts if c.verdict == "slower")
    assert contrast.interval is not None
    assert contrast.ratio is not None
    assert contrast.interval[0] <= contrast.ratio <= contrast.interval[1]
    assert contrast.pairs_s.shape == (len(contrast.to_dict()["pairs"]), 2)


def test_rows_are_flat_and_complete(run: Run) -> None:
    rows = run.rows()
    assert len(rows) == sum(len(m.phases) for c in run.results.cells for m in c.metrics.values())
    assert {"cell", "label", "metric", "phase", "value", "message_bytes", "mpi", "placement"} <= set(rows[0])
    assert {tuple(row) for row in rows} == {tuple(rows[0])}, "a data frame has one set of columns"
    scalars = (str, int, float, bool, type(None))
    assert all(isinstance(value, scalars) for row in [*rows, *run.contrast_rows()] for value in row.values())
    assert isinstance(rows[0]["message_bytes"], int)
    estimate = run.cell(rows[0]["cell"]).estimate(rows[0]["metric"], rows[0]["phase"])
    assert estimate is not None
    assert (rows[0]["value"], rows[0]["samples"]) == (estimate["value"], estimate["samples"])


def test_a_data_frame_takes_pandas_or_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("pandas")
    fake.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", fake)
    assert run.to_pandas() == run.rows()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        run.to_pandas()


def test_what_is_missing_is_none_or_empty_with_its_reason(tmp_path: Path) -> None:
    from slowpath.record.imports.choose import import_files

    run = slowpath.open(import_files([TABLES / "osu-barrier.txt"], tmp_path / "run"))
    barrier = run.cells[-1]
    assert (barrier.metrics, barrier.estimate(phase="first"), barrier.values_s(phase="first")) == (
        ["operation_s"],
        None,
        {},
    )
    assert run.printed[-1].rows[0].operation_s == pytest.approx(0.89e-6)
    assert slowpath.open(import_files([FIELD / "host-bound.txt"], tmp_path / "other")).printed == []


def test_wrong_names_are_one_line(run: Run, tmp_path: Path) -> None:
    for call in (lambda: run.cell("nothing"), lambda: run.cell(0).estimate("speed")):
        with pytest.raises(UsageError) as error:
            call()
        assert "\n" not in str(error.value)
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(RecordError):
            slowpath.open(path)


def test_import_alone_loads_nothing_heavy() -> None:
    code = "import slowpath, sys; print(sorted({'numpy', 'msgspec', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WATCHDOG_S)
    assert done.stdout.strip() == "[]"
