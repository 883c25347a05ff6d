# SPDX-License-Identifier: Apache-2.0
"""The report as a self-contained HTML file. Only the explorer needs JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slowpath.core.guard import text
from slowpath.core.results import Results
from slowpath.findings.tally import kinds_words
from slowpath.report import page, samples, view_cells, view_contrasts, view_findings, view_run
from slowpath.report.profile import profile, side_by_side
from slowpath.report.shown import FEWER, PAGE_BYTES, samples_budget, shown_cells
from slowpath.report.studies import answers_of, views_of
from slowpath.report.view_node_pairs import pair_figures
from slowpath.report.view_places import places


def _labels(results: Results) -> dict[int, str]:
    """Return labels by cell. Cells named by a verdict come first, so that the explorer opens with them."""
    named = {line.contrast for line in results.verdict.lines}
    sides = [side.cell for c in results.contrasts if c.id in named for side in (c.b, c.a)]
    labels = {cell.cell: text(f"{cell.group}: {cell.label}") for cell in results.cells}
    return {cell: labels[cell] for cell in dict.fromkeys([*sides, *labels]) if cell in labels}


def render_html(results: Results, series: Iterable[samples.SampleSeries] = ()) -> str:
    """Return the page, which stays below a megabyte for any run.

    Args: results: as in docs/reference/results.md. series: raw samples for the explorer.
    """
    for most in FEWER:
        shown = _shown(results, most)
        document = page.render("report.html.j2", **shown, explorer=None)
        if len(document.encode()) <= PAGE_BYTES:
            break
    explorer = samples.explore(series, _labels(results), samples_budget(len(document.encode())))
    return page.render("report.html.j2", **shown, explorer=explorer) if explorer else document


def _shown(results: Results, most: int) -> dict[str, Any]:
    """Return the template's values without samples.  Args: most: limit of cells in pictures and of open contrasts."""
    few = shown_cells(results, most)
    findings = view_findings.findings(results)
    groups = view_contrasts.groups(results, most)
    rows = view_contrasts.rows_of(groups)
    witness_head, witness_rows = view_run.witnesses(few)
    rows_of_profile = profile(results.findings, results)
    return {
        "run": results.run,
        "verdict": results.verdict,
        "answers": answers_of(results),
        "place": view_run.place(results),
        "numbers": view_run.numbers(results),
        "spread_note": view_run.spread_note(results),
        "status_note": view_run.status_note(results.run),
        "findings": findings,
        "findings_headline": kinds_words(results.findings),
        "findings_groups": view_findings.by_group(findings),
        "profile": rows_of_profile,
        "beside": side_by_side(rows_of_profile),
        "studies": [(study, view) for study in views_of(results) if (view := study.page(results))],
        "node_pairs": pair_figures(results),
        "groups": groups,
        "anchor": view_contrasts.anchor,
        "known": {contrast.id for contrast in results.contrasts if view_contrasts.anchor(contrast.id) in rows},
        "cells": len(results.cells),
        "known_cells": {cell.cell for cell in few.cells},
        "first": view_cells.first_figures(few),
        "curves": view_cells.curve_figures(results),
        "spread": view_cells.distribution_figures(few),
        "skipped": view_run.skipped_groups(results),
        "embedded_json": page.embedded_json,
        "places": places(results),
        "environment": view_run.environment(results.run),
        "run_command": view_run.run_command(results.run),
        "commands": view_run.commands(few),
        "witness_head": witness_head,
        "witness_rows": witness_rows,
        "notes": results.notes,
        "script": page.script("explorer.js"),
    }
