# SPDX-License-Identifier: Apache-2.0
"""proof.json: reruns of a watched program as it is and with one remedy, what they show, and that in a few lines."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Final, Literal

from slowpath.core.files import decoded, inside, json_bytes, read_bytes, require_schema, write_atomically
from slowpath.core.guard import line, shell_assignments
from slowpath.core.result import Count, Interval, Name, NotNegative, Number, Positive, Result, Share, Text, means

PROOF_FILE = "proof.json"
PROOF_SCHEMA: Final = 1
MOST_PROOFS = 10_000  # in one watch

Side = Literal["as it is", "control", "remedy"]
Phase = Literal["pilot", "proof"]
Verdict = Literal[
    "proven", "no effect", "slower", "undecided", "ignored", "failed", "output differs", "control moved", "running"
]
# What `slowpath prove` goes on with: more blocks may still decide it.
OPEN: Final = ("undecided", "running")


class ProofRun(Result, frozen=True, kw_only=True):
    """One rerun, unwatched."""

    number: Annotated[Count, means("in the order in which they were started, from 1")]
    phase: Annotated[Phase, means("pilot: pairs as it is and control, before any remedy; proof: blocks of all three")]
    block: Annotated[Count, means("within its phase; the sides of a block are in random order")]
    side: Annotated[Side, means("control: as it is, with a variable that nothing reads, as long as the remedy's")]
    wall_s: Annotated[NotNegative, means("of the command, from start to end")]
    exit_code: Annotated[int | None, means("null: a signal ended it, or it was ended at its limit")]
    failed: Annotated[str | None, means("why it does not count; null: it does")]
    output_sha256: Annotated[str | None, means("of what is compared, without ignored lines; null: nothing is")]
    minor_faults: Annotated[Count | None, means("page faults of the command and its children here; null: not known")]


class ProofEffect(Result, frozen=True, kw_only=True):
    """A ratio of wall times, with an interval that holds whenever the runs are stopped."""

    ratio: Annotated[Positive, means("geometric mean over blocks")]
    interval: Annotated[Interval | None, means("always-valid, at the proof's level; null: too few blocks")]
    blocks: Annotated[Count, means("that it rests on")]


class ProofWitness(Result, frozen=True, kw_only=True):
    """Whether the remedy's setting was taken, seen by something else than time."""

    state: Annotated[Literal["taken", "ignored", "not known"], means("not known: nothing shows it")]
    text: Annotated[Text, means("what shows it, with numbers; or why nothing does")]


class Proof(Result, frozen=True, kw_only=True):
    """proof.json of one remedy on one watched program."""

    schema: Annotated[int, means("version of this file")]
    slowpath: Annotated[Name, means("version that wrote it")]
    remedy: Annotated[Name, means("key, as after --remedy; of --try and --unset the setting itself")]
    text: Annotated[Text, means("what it does")]
    rules: Annotated[tuple[Name, ...], means("whose slow paths it may remove; none for settings of the user's")]
    command: Annotated[tuple[Text, ...], means("as it is")]
    remedied: Annotated[tuple[Text, ...], means("command of the remedy")]
    variables: Annotated[dict[str, str], means("that the remedy sets")]
    unset: Annotated[tuple[Name, ...], means("variables that the remedy takes away")]
    compared: Annotated[tuple[Text, ...], means("outputs that are compared; stdout: of the command; none: nothing is")]
    ignored: Annotated[tuple[Text, ...], means("regular expressions of lines that are left out of the comparison")]
    started: Annotated[str, means("ISO 8601, UTC")]
    seed: Annotated[Count, means("of the order of runs")]
    level: Annotated[Share, means("of the intervals; higher where several remedies share one question")]
    minimum_effect: Annotated[NotNegative, means("smallest difference that counts, as a ratio")]
    smallest_decidable: Annotated[
        NotNegative | None,
        means("effect that the budget can decide in four cases of five, from the spread as it is; null: no pilot yet"),
    ]
    run_s: Annotated[NotNegative | None, means("median wall time as it is; null: none yet")]
    spent_s: Annotated[NotNegative, means("wall time of all runs")]
    effect: Annotated[ProofEffect | None, means("remedy over as it is; null: no whole block")]
    control: Annotated[ProofEffect | None, means("control over as it is: has to contain no effect; null: no pair")]
    witness: ProofWitness
    verdict: Annotated[Verdict, means("running: cut off")]
    saved_s: Annotated[Number | None, means("of a run, where the verdict is proven; else null")]
    saved_interval: Annotated[Interval | None, means("of saved_s, at the proof's level")]
    reason: Annotated[Text, means("what the verdict rests on, one line")]
    runs: Annotated[tuple[ProofRun, ...], means("in the order in which they were started")]


def proof_folders(watch: Path) -> list[Path]:
    """Folders proof-1, proof-2, ... of a watch that hold a proof, by number."""
    numbered = []
    for path in watch.glob("proof-*"):
        number = path.name.removeprefix("proof-")
        if number.isdecimal() and int(number) <= MOST_PROOFS and (path / PROOF_FILE).is_file():
            numbered.append((int(number), inside(watch, path.name)))
    return [path for _, path in sorted(numbered)]


def new_proof_folder(watch: Path) -> Path:
    """The next free one, made.  Raises: OSError."""
    taken = [int(word) for path in watch.glob("proof-*") if (word := path.name.removeprefix("proof-")).isdecimal()]
    folder = watch / f"proof-{max(taken, default=0) + 1}"
    folder.mkdir()
    return folder


def read_proof(folder: Path) -> Proof:
    """Raises: RecordError: it is missing, damaged, or from a newer version."""
    path, advice = folder / PROOF_FILE, "remove the folder, and prove again"
    content = read_bytes(path, within=folder)
    require_schema(content, path, PROOF_SCHEMA, advice)
    return decoded(content, Proof, path, advice)


def write_proof(folder: Path, proof: Proof) -> None:
    """Raises: EnvironmentFailure: the disk refuses."""
    write_atomically(folder / PROOF_FILE, json_bytes(proof))


_VERDICTS: dict[Verdict, str] = {
    "proven": "proven",
    "no effect": "no effect",
    "slower": "slower, proven",
    "undecided": "undecided",
    "ignored": "not taken",
    "failed": "a run failed",
    "output differs": "the output differs",
    "control moved": "the control moved",
    "running": "cut off",
}


def proof_lines(proof: Proof) -> list[str]:
    """The first line is the verdict."""
    lines = [f"{proof.remedy}: {_VERDICTS[proof.verdict]}{_headline(proof)}"]
    lines.append(f"  {proof.text}")
    if proof.effect is not None:
        lines.append(f"  time: {_ratio(proof.effect)} times that without the remedy; {proof.reason}")
    elif proof.verdict != "ignored":
        lines.append(f"  {proof.reason}")
    if proof.control is not None:
        lines.append(f"  control: {_ratio(proof.control)} times that without the remedy")
    lines.append(f"  witness: {proof.witness.state}: {proof.witness.text}")
    if not proof.runs:
        return [line(text) for text in lines]
    if proof.compared and proof.verdict in ("proven", "no effect", "slower", "undecided"):
        lines.append(f"  output: equal in all runs ({', '.join(proof.compared)})")
    elif not proof.compared:
        lines.append("  output: not compared; name it with --output")
    if proof.verdict == "undecided" and proof.smallest_decidable is not None:
        lines.append(
            f"  effects of {proof.smallest_decidable:.1%} or more are decidable; repeat the command to continue"
        )
    if proof.verdict == "proven":
        use = [f"unset {name}" for name in proof.unset]
        use += [f"export {assignment}" for assignment in shell_assignments(proof.variables)]
        use += [shlex.join(proof.remedied)] if proof.remedied != proof.command else []
        lines += [f"  use it: {setting}" for setting in use]
    return [line(text) for text in lines]


def _headline(proof: Proof) -> str:
    if proof.verdict in ("proven", "slower") and proof.effect is not None and proof.effect.interval is not None:
        low, high = proof.effect.interval
        if proof.verdict == "slower":
            return f": {proof.effect.ratio - 1:.1%} [{low - 1:.1%}, {high - 1:.1%}] more time"
        run_s = proof.run_s or 0.0
        saved = f", {run_s * proof.effect.ratio:.3g} s instead of {run_s:.3g} s a run"
        return f": {1 - proof.effect.ratio:.1%} [{1 - high:.1%}, {1 - low:.1%}] less time{saved}"
    if proof.verdict == "no effect" and proof.effect is not None and proof.effect.interval is not None:
        most = max(abs(end - 1) for end in proof.effect.interval)
        return f": less than {most:.1%} of the time, either way"
    return ""


def _ratio(effect: ProofEffect) -> str:
    ends = "no interval yet" if effect.interval is None else f"[{effect.interval[0]:.4f}, {effect.interval[1]:.4f}]"
    return f"{effect.ratio:.4f} {ends} ({effect.blocks} blocks)"
