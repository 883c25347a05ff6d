# SPDX-License-Identifier: Apache-2.0
"""The page of a run, and what its page and its text say of the whole run: head, environment, commands."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from slowpath.core.results import (
    EnvironmentResult,
    MpiResult,
    PlacementResult,
    Results,
    RunResult,
    SkippedRow,
    Verdict,
)
from slowpath.findings.conclude import kinds_words
from slowpath.report import cells as of_cells
from slowpath.report import format as fmt
from slowpath.report.cards import Sources, anchor, findings_section
from slowpath.report.figure import (
    Block,
    Copied,
    Facts,
    Fold,
    Group,
    Items,
    Lines,
    Page,
    Section,
    Table,
    Text,
    grouped,
)
from slowpath.report.osu import numbers_section
from slowpath.report.page import FEWER, LEVELS, PAGE_BYTES, render
from slowpath.report.panel import panel_section
from slowpath.report.studies import answers_of, study_sections

Number = tuple[str, str]  # as it is shown, and of what
_NOT_RECORDED = f"{fmt.MISSING} not recorded"
_LABELS_SHOWN = 4  # of the cells that share one reason
_MANY = 600  # cells, whose tables leave no room for more pictures
_MANY_MISSING = 0.25  # of a run's cells


def render_html(results: Results) -> str:
    """Return the page, which stays below a megabyte for any run."""
    document = ""
    for most in FEWER[2:] if len(results.cells) > _MANY else FEWER:
        document = render(_page(results, most))
        if len(document.encode()) <= PAGE_BYTES:
            break
    return document


def _page(results: Results, most: int) -> Page:
    """Return the page.  Args: most: limit of cells in pictures and commands, and of contrasts that open."""
    run, verdict, few = results.run, results.verdict, shown_cells(results, most)
    rows = of_cells.contrasts_with_row(results)
    lines = [
        (*LEVELS.get(line.level, LEVELS["info"]), line.text, anchor(line.contrast) if line.contrast in rows else "")
        for line in verdict.lines
    ]
    answers = answers_of(results)
    # A panel has every kind of call in a row, and the tables every cell.
    study = study_sections(results) if answers or not results.panel else []
    details = [
        *of_cells.contrasts_section(results, most),
        *_cell_sections(results, few),
        *_skipped_section(results),
        environment_section(results),
        _reproduce_section(results, few),
        *([Section("notes", "Notes", "", [Items(results.notes)])] if results.notes else []),
    ]
    asks = results.verdict.state != "nothing asked"
    findings = findings_section(kinds_words(results.findings), results.findings, lambda _: Sources(results), rows)
    title = run.title or "Slowpath"
    imported = "Imported: the times come from a log, not from Slowpath's engine." if run.imported else ""
    warnings = [verdict.still_open or "", " ".join(filter(None, (imported, spread_note(results)))), status_note(run)]
    return Page(
        f"{title}: {verdict.headline}",
        run.title or run.campaign or "",
        verdict.answer or verdict.headline,
        f"Slowpath {run.slowpath or fmt.MISSING}, engine {run.engine or f'{fmt.MISSING} (none)'}",
        [
            *panel_section(results.panel, results.no_reference),
            *(study if answers else []),  # who runs a study asks its question, and what is slow beside it comes second
            *findings,
            *([] if answers else (dataclasses.replace(section, folded=asks) for section in study)),
            *numbers_section(results, folded=asks or bool(answers)),
            *of_cells.node_pairs_section(results),
            *(dataclasses.replace(section, folded=True) for section in details),
        ],
        [*answers, *of_cells.libraries_answer(results)],
        verdict.actions,
        [warning for warning in warnings if warning],
        place(results),
        run_numbers(results),
        [] if findings or not lines else [Fold("Every question", [Lines(lines)])] if answers else [Lines(lines)],
    )


def shown_cells(results: Results, most: int = FEWER[0]) -> Results:
    """Return the results with at most `most` cells, in their order.

    Cells of findings come first, then those of the verdict and of contrasts, then the first cells.
    """
    if len(results.cells) <= most:
        return results
    named = {line.contrast for line in results.verdict.lines}
    sides = sorted(results.contrasts, key=lambda contrast: contrast.id not in named)
    wanted = [cell for finding in results.findings for cell in (*finding.slow_cells[:1], *finding.fast_cells[:1])]
    wanted += [side.cell for contrast in sides for side in (contrast.a, contrast.b)]
    wanted += [cell.cell for cell in results.cells]
    kept = set(list(dict.fromkeys(wanted))[:most])
    return replace(results, cells=[cell for cell in results.cells if cell.cell in kept])


def _cell_sections(results: Results, few: Results) -> list[Section]:
    """Return the sections of single cells, without those that have nothing to show."""
    limit: list[Block] = []
    sized = results if len(few.cells) >= FEWER[0] else few
    if len(few.cells) < len(results.cells):
        limit = [Text(f"{len(few.cells)} of {len(results.cells)} cells; cells.csv has all", "warn")]
    sections = []
    for name, title, nav, lead, figures in (
        ("sizes", "Over message size", "Message size", "", of_cells.size_figures(sized)),
        ("spread", "Distribution of each cell", "Distributions", of_cells.SPREAD_LEAD,
         of_cells.distribution_figures(few)),
    ):  # fmt: skip
        blocks: Sequence[Block] = [Group("panels", figures)] if name == "sizes" else figures
        if figures:
            sections.append(Section(name, title, nav, [*limit, *blocks], lead))
            limit = []
    return sections


# ---- Head


def summary(results: Results) -> list[str]:
    """Return what was measured, for how long, and where unless the verdict states that."""
    run, cells = results.run, results.cells
    done = sum(cell.status in ("ok", "partial") for cell in cells)
    parts = [f"{done} of {fmt.plural(len(cells), 'cell')} measured", fmt.plural(run.launches.done, "launch")]
    parts += [fmt.duration(run.wall_s)] if run.wall_s is not None else []
    if results.verdict.place is not None:
        return parts
    return [*parts, *(str(word) for word in (mpi_names(run), run.machine.get("host"), run.started) if word)]


def place(results: Results) -> list[str]:
    """Return host, library and start of the run."""
    run = results.run
    return [str(word) for word in (run.machine.get("host"), mpi_names(run), fmt.date(run.started)) if word]


def mpi_names(run: RunResult) -> str:
    """Return the MPIs that were available, such as `mpich 5.0.2, openmpi 5.0.11`."""
    used = [mpi for mpi in run.mpis or [run.mpi] if not mpi.unavailable]
    return ", ".join(filter(None, (" ".join(filter(None, (mpi.name, mpi.version))) for mpi in used)))


def run_numbers(results: Results) -> list[Number]:
    """Return the few numbers under the headline."""
    run, cells = results.run, results.cells
    done = sum(cell.status in ("ok", "partial") for cell in cells)
    planned, ran = run.launches.planned, run.launches.done
    shown = counted(results.verdict)
    shown.append((str(done) if done == len(cells) else f"{done} of {len(cells)}", "cells measured"))
    shown.append((str(ran) if planned == ran else f"{ran} of {planned}", "launches"))
    return [*shown, *([(fmt.duration(run.wall_s), "measured for")] if run.wall_s is not None else [])]


def counted(verdict: Verdict) -> list[Number]:
    """Return the numbers of faults, proven opportunities and open questions, if the file has them."""
    if verdict.faults is None or verdict.opportunities is None:
        return []
    opportunities = "proven opportunity" if verdict.opportunities == 1 else "proven opportunities"
    counts = [(str(verdict.faults), "fault" if verdict.faults == 1 else "faults")]
    counts.append((str(verdict.opportunities), opportunities))
    counts += [(str(verdict.properties), "properties of the library")] if verdict.properties else []
    counts += [(str(verdict.off_default), "under other settings")] if verdict.off_default else []
    undecided = f"{verdict.undecided} of {verdict.questions}"
    return [*counts, *([(undecided, "questions undecided")] if verdict.undecided else [])]


def spread_note(results: Results) -> str | None:
    """Return a warning if no cell was measured in several launches, so that intervals lack the run-to-run spread."""
    metrics = (metric for cell in results.cells for metric in cell.metrics.values())
    counts = [estimate.launches for metric in metrics for estimate in metric.phases.values()]
    return "One launch: run-to-run spread unknown." if counts and max(counts) == 1 else None


def status_note(run: RunResult) -> str | None:
    """Return a warning if the run or a launch is not complete, with the command that measures the rest."""
    launches, head = run.launches, "" if run.status == "complete" else f"The run is {run.status}: "
    if run.status == "complete" and (launches.done >= launches.planned or run.imported):
        return None
    lost = f"; {fmt.plural(launches.failed, 'launch')} failed" if launches.failed else ""
    again = "" if run.imported else f" What is left, hung or crashed: slowpath run --resume {run.folder}"
    return f"{head}{launches.done} of {fmt.plural(launches.planned, 'launch')} ended{lost}.{again}"


def ignored_note(mpi: MpiResult) -> str | None:
    """Return a note about variables of the user that UCX did not recognise."""
    unused = mpi.unused_variables
    reported = (f"{name} (nearest: {near})" if near else name for name, near in (unused or {}).items())
    return f"UCX ignores {', '.join(reported)}." if unused else None


def missing_note(results: Results) -> str | None:
    """Return how many cells were not measured and the reason of most of them, where they are many."""
    known = {cell.cell for cell in results.cells}
    rows = [row for row in results.skipped if row.cell in known]
    missing = {row.cell for row in rows}
    if len(missing) <= _MANY_MISSING * len(known):
        return None
    by_reason: dict[str, set[int | None]] = {}
    for row in rows:
        by_reason.setdefault(_OWN_PARAMETER.sub("", row.reason), set()).add(row.cell)
    reason, cells = max(by_reason.items(), key=lambda entry: len(entry[1]))
    which = "" if len(cells) == len(missing) else f", {len(cells)} of them"
    return f"Not measured: {len(missing)} of {len(known)} cells{which}: {reason}."


# ---- Skipped

_OWN_PARAMETER = re.compile(r"^[a-z_]+=[\w.-]+: ")


@dataclass(frozen=True, slots=True)
class SkippedGroup:
    """Cells that share a status and a reason. `label` names some of them; `log` and `output` belong to one of them."""

    status: str
    reason: str
    label: str
    launches: int
    log: str | None
    output: str | None


def skipped_groups(results: Results) -> list[SkippedGroup]:
    """Return the cells that were not measured, grouped by status and reason.

    A reason that begins with the cell's own parameter, as `design=openshmem_p: `, is the same as that of a cell with
    another value of it.
    """
    why = "no reason was recorded"
    groups = grouped(results.skipped, lambda row: (row.status, _OWN_PARAMETER.sub("", row.reason or why)))
    return [
        _skipped_group(status, rows[0].reason if len(rows) == 1 and rows[0].reason else reason, rows)
        for (status, reason), rows in groups.items()
    ]


def _skipped_group(status: str, reason: str, rows: Sequence[SkippedRow]) -> SkippedGroup:
    labels, more = [row.label for row in rows], len(rows) - _LABELS_SHOWN
    label = labels[0] if len(labels) == 1 else f"{len(labels)} cells: {'; '.join(labels[:_LABELS_SHOWN])}"
    label += f"; and {more} more" if more > 0 else ""
    printed = next((row for row in rows if row.output), rows[0])
    return SkippedGroup(status, reason, label, max(row.launches for row in rows), printed.log, printed.output)


def _skipped_section(results: Results) -> list[Section]:
    blocks: list[Block] = []
    for group in skipped_groups(results):
        launches = f" in {fmt.plural(group.launches, 'launch')}" if group.launches else ""
        blocks.append(Text(f"{group.label}{launches}: {group.reason}", name=group.status))
        if group.output:
            summary = f"What it printed{f' ({group.log})' if group.log else ''}"
            blocks.append(Fold(summary, [Copied(group.output, copy=False)]))
        elif group.log:
            blocks.append(Text(group.log, "sub"))
    return [Section("skipped", "Skipped and failed", "Skipped", blocks)] if blocks else []


# ---- Environment and commands

_ELSEWHERE = ("mpi", "mpis", "machine", "launches", "command", "environments", "placements")
_VARIABLES = ("control_variables", "performance_variables", "protocols")


def environment_section(results: Results | None, more: Iterable[Block] = (), before: Iterable[Block] = ()) -> Section:
    """Return what was recorded of machine, MPI and run."""
    blocks = list(before)
    if results is not None:
        blocks += _places(results.run)
        lists = [Facts(facts, title[:1].upper() + title[1:]) for title, facts in environment(results.run)]
        blocks.append(Fold("Machine, MPI and run", [Group("columns", lists)]))
    return Section("environment", "Environment", "Environment", [*blocks, *more], folded=True)


def _places(run: RunResult) -> list[Table]:
    head, none = ["Rank", "Node", "Processors allowed", "Seen on"], f"{fmt.MISSING} not reported"
    return [
        Table(
            f"Placement {placement.name}",
            head,
            [[str(rank.rank), rank.host, rank.cpus_allowed or none, none if rank.cpu is None else str(rank.cpu)]
             for rank in placement.observed],
            f"Placement {placement.name}",
        )
        for placement in run.placements if placement.observed
    ]  # fmt: skip


def environment(run: RunResult) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return all recorded facts about the MPI, the machine, the run and its binding, as titled lists."""
    parts = {key: value for key, value in run.machine.items() if isinstance(value, dict)}
    machine = {key: value for key, value in run.machine.items() if key not in parts}
    own = {key: value for key, value in msgspec.to_builtins(run).items() if key not in _ELSEWHERE}
    lists = [(f"MPI {mpi.mpi}" if len(run.mpis) > 1 else "MPI", _mpi(mpi)) for mpi in run.mpis or [run.mpi]]
    lists += [("Machine", machine), ("Run", own), *((_words(key), facts) for key, facts in parts.items())]
    shown = [(title, list(_flat(facts))) for title, facts in lists if facts]
    shown.append(("Environments", [(e.name, _settings(e)) for e in run.environments]))
    shown.append(("Placements", [(p.name, _binding(p)) for p in run.placements]))
    return [(title, _gathered(facts)) for title, facts in shown if facts]


def _gathered(facts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Move facts that were not recorded into one line at the end."""
    missing = [name for name, value in facts if value == _NOT_RECORDED]
    kept = [(name, value) for name, value in facts if value != _NOT_RECORDED]
    return [*kept, (_NOT_RECORDED, ", ".join(missing))] if missing else kept


def _mpi(mpi: MpiResult) -> dict[str, Any]:
    """Return the facts about an MPI. Of variables and protocols, which would fill pages, only the number is shown."""
    facts: dict[str, Any] = msgspec.to_builtins(mpi)
    if mpi.paths:
        facts["paths"] = "; ".join(path.words for path in mpi.paths)
    return {
        key: f"{len(value)} in results.json" if value and key in _VARIABLES else value
        for key, value in facts.items()
        if key != "mpi" and (key, value) != ("unavailable", None)
    }


def _settings(environment: EnvironmentResult) -> str:
    """Return the variables of an environment, or why this MPI can't provide it."""
    if environment.unavailable:
        return f"{fmt.MISSING} {environment.unavailable}"
    return ", ".join(f"{name}={value}" for name, value in environment.variables.items()) or "as found"


def _binding(placement: PlacementResult) -> str:
    """Return the requested placement and the processors on which the ranks ran."""
    asked = [placement.bind]
    for name in ("spread", "nodes", "ranks_per_node", "hosts"):
        value = getattr(placement, name)
        asked += [f"{name.replace('_', ' ')} {_value('', value)}"] if value else []
    observed = placement.observed
    several = len({rank.host for rank in observed}) > 1
    ranks = [f"rank {rank.rank} on {rank.host + ' ' if several else ''}{rank.cpus_allowed}" for rank in observed]
    bindings = ", ".join(ranks) if ranks else f"{fmt.MISSING} no launch reported it"
    warnings = "".join(f"; warning: {text}" for text in placement.differs)
    return f"asked: {', '.join(asked)}; observed: {bindings}{warnings}"


def _flat(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        # Names of environment variables stay unchanged.
        name = f"{above} {_words(key) if key.islower() else key}".strip()
        if isinstance(value, dict) and value:
            yield from _flat(value, name)
        else:
            yield name, _value(key, value)


_NAMES = {"mpi": "MPI", "cpu": "CPU", "gpus": "GPUs", "gpu driver": "GPU driver", "os": "operating system",
          "abi": "ABI", "id": "identity"}  # fmt: skip


def _words(key: str) -> str:
    for suffix in ("_bytes", "_ns", "_s"):
        key = key.removesuffix(suffix)
    words = key.replace("_", " ")
    return _NAMES.get(words, words)


def _value(key: str, value: Any) -> str:
    if value is None or value == "":
        return _NOT_RECORDED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, dict)):
        return ", ".join(_value("", item) for item in value) if value else "none"
    if isinstance(value, (int, float)):
        if key.endswith("_bytes"):
            return f"{value:,} B".replace(",", " ")
        if key.endswith("_ns"):
            return f"{value:g} ns"
        if key.endswith("_s"):
            return fmt.duration(float(value))
    return str(value)


def command_line(words: Sequence[str]) -> str | None:
    """Return a command as one line for a shell, or None if it was not recorded."""
    return shlex.join(words) or None


def _reproduce_section(results: Results, few: Results) -> Section:
    """Return the command of the run, and one for each cell, or why there is none."""
    run = results.run
    whole = command_line(run.command or [])
    why = f"{fmt.MISSING} not recorded"
    blocks: list[Block] = [Copied(whole, "The whole run:") if whole else Text(why, "sub")]
    commands = [
        Copied(cell.reproduce or cell.reason or why, f"{cell.label}; {cell.group}, cell {cell.cell}",
               f"cell-{cell.cell}", copy=False)
        for cell in few.cells
    ]  # fmt: skip
    blocks.append(Fold(f"One command for each of {len(commands)} cells", commands, opened=len(commands) <= 8))
    return Section("reproduce", "Reproduce", "Reproduce", blocks)
