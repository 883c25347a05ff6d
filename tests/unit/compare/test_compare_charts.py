# SPDX-License-Identifier: Apache-2.0
"""Two runs in one picture: a panel with both curves for each style over n, and for p2p over the message's length."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from planted_runs import cell, run_of, source, values

from slowpath.cli.main import main
from slowpath.compare.comparison import compare
from slowpath.compare.read import RunSource
from slowpath.compare.views import figures, render_comparison_html
from slowpath.core.cell_results import CellResult
from slowpath.report.figure import Plot


def p2p(name: str, seed: int, slow: float = 1.0) -> RunSource:
    rng = np.random.default_rng(seed)
    return source(name, [cell(i, values(rng, slow * i)) for i in (1, 2, 4, 8)])


def cannon(name: str, seed: int, slow: float = 1.0) -> RunSource:
    """Two styles with three orders each."""
    rng = np.random.default_rng(seed)
    cells: list[CellResult] = []
    for variant in ("sendrecv", "put_fence"):
        for n in (128, 256, 512):
            factor = (n / 128) ** 3 * (slow if variant == "put_fence" else 1.0)
            made = cell(len(cells), values(rng, factor))
            metrics = {"multiply_s": next(iter(made.metrics.values()))}
            parameters = {"pattern": "multiply", "variant": variant, "n": str(n), "repetitions": str(4096 // n)}
            cells.append(replace(made, experiment="cannon", parameters=parameters, metrics=metrics))
    return source(name, cells)


def rows(figure: Plot) -> list[list[object]]:
    assert figure.table is not None
    return [list(row) for row in figure.table.rows]


def test_each_style_has_a_panel_with_both_curves() -> None:
    a, b = cannon("a", 1), cannon("b", 2, slow=2.0)
    found = figures(compare(a, b, 0.03), a.results, b.results)
    assert [figure.title for figure in found] == ["Multiply, sendrecv", "Multiply, put fence"]
    for figure in found:
        assert [(series.label, len(series.points)) for series in figure.series] == [("A", 3), ("B", 3)]
        assert figure.x.title == "order n of the matrices"
        assert [row[0] for row in rows(figure)] == ["n = 128", "n = 256", "n = 512"]
    assert [row[-1] for row in rows(found[1])] == ["slower"] * 3


def test_the_page_has_every_row_and_what_differs() -> None:
    a, b = cannon("before", 1), cannon("after", 2, slow=2.0)
    b = RunSource(b.path, replace(b.results, run=replace(b.results.run, machine={"host": "n2"})))
    page = render_comparison_html(compare(a, b, 0.03), a.results, b.results)
    assert "3 slower" in page
    assert page.count("<svg") >= 2
    assert "n1" in page
    assert "n2" in page
    assert "<li>hardware: B does not state the machine" in page
    assert "://" not in page, "it opens without a network"


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.json").write_bytes(
            msgspec.json.encode(run_of(np.random.default_rng(seed), name, 4).results)
        )
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--html", str(page)])
    assert ended.value.code == 0
    assert "Both runs over size" in page.read_text()
