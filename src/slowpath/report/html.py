# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that opens without a network. Only the explorer needs JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec.structs import replace

from slowpath.core.results import Results, Verdict
from slowpath.report import format as fmt
from slowpath.report import samples, view_cells, view_contrasts, view_curves, view_findings, view_run
from slowpath.report.studies import views_of
from slowpath.report.svg import marks
from slowpath.report.svg.element import element
from slowpath.report.view_node_pairs import pair_figures

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
LEVELS = {
    "slow": ("slower", "Slow"),
    "ok": ("same", "OK"),
    "info": ("info", "Note"),
    "warning": ("undecided", "Warning"),
}


@cache
def _environment() -> Environment:
    made = Environment(loader=FileSystemLoader([TEMPLATES, HERE]), autoescape=True, undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    made.globals.update(anchor=view_contrasts.anchor, badge=badge, levels=LEVELS, missing=fmt.MISSING)
    made.globals.update(micro=view_findings.with_micro)
    return made


def _with_micro(verdict: Verdict) -> Verdict:
    """The verdict with `µs` for the `us` of plain text."""
    return replace(verdict, lines=[replace(line, text=view_findings.with_micro(line.text)) for line in verdict.lines])


def badge(verdict: str) -> Markup:
    """The marker of a verdict, to stand next to its word."""
    d = marks.SHAPES.get(verdict, "M-2-7H2V-3H-2zM-2-1H2V7H-2z")
    path = element("path", d=d, class_=f"mark {verdict}")
    return Markup(element("svg", path, class_="badge", width=16, height=16, viewBox="-8 -8 16 16", aria_hidden="true"))


def embedded_json(text: str) -> Markup:
    """JSON that may stand in a script element: no `</script>` or `<!--` can end or open anything."""
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def stylesheet() -> Markup:
    """The style of every page that this program writes."""
    return _inline("style.css")


def _inline(name: str) -> Markup:
    lines = (TEMPLATES / name).read_text(encoding="utf-8").splitlines()
    return Markup("\n".join(line.strip() for line in lines if "SPDX" not in line))


def _labels(results: Results) -> dict[int, str]:
    """Label of each cell, those that a verdict names first: the explorer opens with them and gives them up last."""
    named = {line.contrast for line in results.verdict.lines}
    sides = [side.cell for c in results.contrasts if c.id in named for side in (c.b, c.a)]
    labels = {cell.cell: f"{cell.group}: {cell.label}" for cell in results.cells}
    return {cell: labels[cell] for cell in dict.fromkeys([*sides, *labels]) if cell in labels}


def render_html(results: Results, series: Iterable[samples.Series] = ()) -> str:
    """The whole page.

    Args: results: as docs/reference/results.md.  series: raw samples for the explorer, which says so if there are none.
    """
    groups = view_contrasts.groups(results)
    findings = view_findings.findings(results)
    witness_head, witness_rows = view_run.witnesses(results)
    page = _environment().get_template("report.html.j2")
    return page.render(
        run=results.run,
        verdict=_with_micro(results.verdict),
        summary=view_run.summary(results),
        spread_note=view_run.spread_note(results),
        status_note=view_run.status_note(results.run),
        findings=findings,
        findings_headline=view_findings.headline(findings),
        studies=[(study, view) for study in views_of(results) if (view := study.page(results))],
        node_pairs=pair_figures(results),
        groups=groups,
        known={contrast.id for contrast in results.contrasts},
        first=view_cells.first_figures(results),
        curves=view_curves.curve_figures(results),
        spread=view_cells.distribution_figures(results),
        skipped=view_run.skipped_groups(results),
        explorer=samples.explore(series, _labels(results)),
        embedded_json=embedded_json,
        environment=view_run.environment(results.run),
        run_command=view_run.run_command(results.run),
        commands=view_run.commands(results),
        witness_head=witness_head,
        witness_rows=witness_rows,
        notes=results.notes,
        style=stylesheet(),
        script=_inline("explorer.js"),
    )
