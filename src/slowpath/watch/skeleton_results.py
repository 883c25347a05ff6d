# SPDX-License-Identifier: Apache-2.0
"""skeleton.json: what a program's skeleton takes beside the program, and what changes of it save; and that in lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from slowpath.core.clean import line
from slowpath.core.decoding import decoded, schema_in
from slowpath.core.files import json_bytes, read_bytes, write_atomically
from slowpath.core.result import Count, Interval, Name, NotNegative, Number, Positive, Result, Text, means
from slowpath.core.units import format_interval, format_ratio
from slowpath.watch.proof import ProofEffect, Verdict

SKELETON_FOLDER, SKELETON_FILE = "skeleton", "skeleton.json"
SKELETON_SCHEMA: Final = 1
MOST_LINES: Final = 12


class KindTime(Result, frozen=True, kw_only=True):
    """Calls of one kind, seconds a rank: in the watched program, and in its skeleton."""

    kind: Annotated[Name, means("send, wait, allreduce, ...")]
    calls: Annotated[Count, means("all ranks")]
    program_s: Annotated[NotNegative, means("as recorded")]
    skeleton_s: Annotated[NotNegative, means("mean of the launches as it is")]
    is_judged: Annotated[bool, means("false: less than 2 % of the run, where 15 % is nothing")]
    is_faithful: Annotated[bool, means("within 15 %; of a kind that is not judged true")]


class Fidelity(Result, frozen=True, kw_only=True):
    """Whether the skeleton takes what the program took."""

    program_s: Annotated[NotNegative, means("from the first call to the last, as recorded, less the watch's own time")]
    skeleton_s: Annotated[NotNegative, means("of the slowest rank, mean of the launches as it is")]
    ratio: Annotated[ProofEffect, means("skeleton over program")]
    kinds: Annotated[tuple[KindTime, ...], means("most time first")]
    is_faithful: Annotated[bool, means("total within 10 %, each kind within 15 %")]
    reason: Annotated[Text, means("one line")]
    is_open: Annotated[
        bool, means("ranks share processors, within 10 % in total and not in each kind: settings alone are measured")
    ] = False


class SkeletonChange(Result, frozen=True, kw_only=True):
    """One change of the script, measured beside the script as it is and a control."""

    name: Annotated[Name, means("key of the change")]
    text: Annotated[Text, means("what it does, with counts")]
    rules: Annotated[tuple[Name, ...], means("whose slow path it takes away")]
    check: Annotated[Text | None, means("what the author has to check before writing it; null: it means the same")]
    verdict: Annotated[Verdict | None, means("as of a proof; null: refused")]
    reason: Annotated[Text, means("what the verdict rests on, or why it was refused")]
    effect: Annotated[ProofEffect | None, means("changed over as it is; null: not measured")]
    control: Annotated[ProofEffect | None, means("the unchanged script under another name, over as it is")]
    saved_s: Annotated[Number | None, means("of a run, where the verdict is proven; else null")]
    saved_interval: Annotated[Interval | None, means("of saved_s, at 95 % for all changes together")]


class SkeletonRun(Result, frozen=True, kw_only=True):
    """One launch."""

    number: Annotated[Count, means("in the order in which they were started, from 1")]
    block: Annotated[Count, means("its arms are in random order")]
    arm: Annotated[Name, means("as it is, control, or a change")]
    total_s: Annotated[Positive | None, means("of the slowest rank; null: it failed")]
    failed: Annotated[Text | None, means("why it does not count; null: it does")]


class SkeletonResults(Result, frozen=True, kw_only=True):
    """skeleton.json of a watch."""

    schema: Annotated[int, means("version of this file")]
    slowpath: Annotated[Name, means("version that wrote it")]
    ranks: Annotated[Count, means("that play")]
    operations: Annotated[Count, means("calls of all ranks; 0: refused")]
    statements: Annotated[tuple[Text, ...], means("what is played as something else")]
    refused: Annotated[Text | None, means("why the program can't be played; null: it is")]
    fidelity: Annotated[Fidelity | None, means("null: refused, or no launch yet")]
    changes: Annotated[tuple[SkeletonChange, ...], means("most saved first; none: the skeleton is not faithful")]
    runs: Annotated[tuple[SkeletonRun, ...], means("in the order in which they were started")]

    @property
    def is_priced(self) -> bool:
        """Whether what was measured of its changes may be believed."""
        return self.fidelity is not None and (self.fidelity.is_faithful or self.fidelity.is_open)


def read_skeleton(watch: Path) -> SkeletonResults | None:
    """The skeleton of a watch; None: it has none.  Raises: RecordError: damaged, or from a newer version."""
    path, advice = watch / SKELETON_FOLDER / SKELETON_FILE, "remove it, and run slowpath replay WATCH --skeleton"
    if not path.is_file():
        return None
    content = read_bytes(path, within=watch)
    schema_in(content, path, SKELETON_SCHEMA, advice)
    return decoded(content, SkeletonResults, path, advice)


def write_skeleton(watch: Path, found: SkeletonResults) -> None:
    """Raises: EnvironmentFailure: the disk refuses."""
    folder = watch / SKELETON_FOLDER
    folder.mkdir(exist_ok=True)
    write_atomically(folder / SKELETON_FILE, json_bytes(found))


def skeleton_lines(found: SkeletonResults) -> list[str]:
    """At most twelve lines: whether it can be believed, what each change saves, what to check."""
    if found.refused is not None:
        return [line(f"Skeleton: can't be replayed, so it prices nothing: {found.refused}.")]
    lines = [f"Skeleton: {found.operations:,} calls on {found.ranks} ranks, not launched yet."]
    if found.fidelity is not None:
        lines = [_fidelity_words(found.fidelity)]
    if found.is_priced:
        for number, change in enumerate(_worth_a_line(found), start=1):
            lines += [f"  {number}. {change_words(change)}"]
            lines += [f"     Check: {change.check}"] if change.check and change.verdict == "proven" else []
        if not found.changes:
            lines.append("  No known change applies to it.")
    room = MOST_LINES - len(lines)
    said = [f"  Note: {statement}." for statement in found.statements]
    return [line(words) for words in (lines + said[: max(room, 0)])[:MOST_LINES]]


def _fidelity_words(found: Fidelity) -> str:
    ends = f" {format_interval(found.ratio.interval, found.ratio.ratio)}" if found.ratio.interval else ""
    head = f"Skeleton: {format_ratio(found.skeleton_s)} s where the program took {format_ratio(found.program_s)} s"
    words = f"{head} (ratio {found.ratio.ratio:.3f}{ends})"
    if found.is_open:
        return f"{words}. Only settings were measured; a rerun proves them (slowpath prove): {found.reason}."
    return f"{words}: {found.reason}." if found.is_faithful else f"{words}. It prices nothing: {found.reason}."


def _worth_a_line(found: SkeletonResults) -> list[SkeletonChange]:
    return [change for change in found.changes if change.verdict is not None]


def change_words(change: SkeletonChange) -> str:
    """`aggregated messages: saves 0.61 s [0.55, 0.68] (measured on the skeleton): 15,360 messages become 30`."""
    if change.verdict is None:
        return f"{change.name}: not measured: {change.reason}"
    if change.verdict == "proven" and change.saved_s is not None and change.saved_interval is not None:
        ends = format_interval(change.saved_interval, change.saved_s)
        half = (change.saved_interval[1] - change.saved_interval[0]) / 2
        saved = f"saves {format_ratio(change.saved_s, half)} s {ends} (measured on the skeleton)"
        return f"{change.name}: {saved}: {change.text}"
    words = {"no effect": "saves nothing", "slower": "is slower"}.get(change.verdict, change.verdict)
    return f"{change.name}: {words}: {change.reason}"
