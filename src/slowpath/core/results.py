# SPDX-License-Identifier: Apache-2.0
"""results.json, typed: what `analyse` concludes and everybody else reads.

`schema/results.schema.json` and the page of results are generated from here (tools/generate-pages). Times are seconds,
lengths bytes, numbers unrounded; None means missing and stands next to a reason. The claim of a contrast is b over a.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from slowpath.core.cannon_results import CannonResults
from slowpath.core.cell_results import CellResult
from slowpath.core.put_results import PutResults
from slowpath.core.result import Interval, Phase, Result

RESULTS_SCHEMA = 1

VerdictWord = Literal["faster", "slower", "same", "undecided"]
Level = Literal["slow", "info", "ok", "warning"]


class LibraryVariable(Result, frozen=True, kw_only=True, omit_defaults=True, rename={"kind": "class"}):
    """A variable of the MPI tool information interface (MPI-4.1 chapter 15), as rank 0 read it."""

    name: str
    value: Annotated[
        bool | int | float | str | list[int | float] | None, Meta(description="null with a reason, else what it holds")
    ]
    type: str
    description: str
    reason: Annotated[str | None, Meta(description="why value is null")] = None
    kind: Annotated[str | None, Meta(description="class of a performance variable")] = None
    by_environment: Annotated[
        dict[str, Any] | None, Meta(description="environments in which it has another value than in the first")
    ] = None


class UcxProtocol(Result, frozen=True, kw_only=True):
    """A row of UCX's own table of protocols, of witnessed launches."""

    environment: str
    scope: str
    operation: str
    first_bytes: float
    last_bytes: Annotated[float | None, Meta(description="null: no upper end")]
    how: str
    transports: str


class MpiResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    """One MPI of the run; of one that is not there, its name and why."""

    mpi: Annotated[str | None, Meta(description="short name, as cells have it; null in imported and old runs")]
    unavailable: Annotated[str | None, Meta(description="why it is not there; its cells are skipped")]
    library: Annotated[str | None, Meta(description="what MPI_Get_library_version returns")] = None
    standard: Annotated[str | None, Meta(description="version of the MPI standard")] = None
    control_variables: Annotated[
        list[LibraryVariable] | None, Meta(description="MPI_T, of witnessed launches; null: none was witnessed")
    ] = None
    control_variables_reason: Annotated[str | None, Meta(description="why there are none")] = None
    performance_variables: list[LibraryVariable] | None = None
    performance_variables_reason: Annotated[str | None, Meta(description="why there are none")] = None
    protocols: Annotated[list[UcxProtocol] | None, Meta(description="UCX's, of witnessed launches")] = None
    name: Annotated[str | None, Meta(description="library: mpich, openmpi, intelmpi, ...")] = None
    version: str | None = None
    transport: Annotated[str | None, Meta(description="ucx, ofi, ...; null: not known")] = None
    vendor: Annotated[str | None, Meta(description="the line by which it names itself")] = None
    mpiexec: str | None = None
    launcher: str | None = None
    abi: Annotated[str | None, Meta(description="ABI of the shared library")] = None
    standard_abi: Annotated[bool | None, Meta(description="whether it offers the ABI of MPI-5")] = None
    prefix: str | None = None
    source: Annotated[str | None, Meta(description="how it was found")] = None
    env: Annotated[dict[str, str] | None, Meta(description="variables that its launcher and ranks get")] = None
    engine: Annotated[dict[str, Any] | None, Meta(description="its engine: compiler, flags, path")] = None


class EnvironmentResult(Result, frozen=True, kw_only=True):
    """Variables that launches get on top of the user's own. One entry holds for one MPI, or for all."""

    name: str
    mpi: Annotated[str | None, Meta(description="the MPI for which this entry holds; null: every MPI of the run")]
    setting: Annotated[str | None, Meta(description="library-neutral name of the state, as single_copy_off")]
    variables: dict[str, str]
    unset: Annotated[list[str], Meta(description="taken out of the user's own variables")]
    witness: Annotated[bool, Meta(description="its launches count calls; their times are not used")]
    unavailable: Annotated[str | None, Meta(description="why this MPI can't be put into this state")]

    @property
    def as_found(self) -> bool:
        """Whether it leaves the user's variables and the library's state alone."""
        return not (self.variables or self.unset or self.setting)


class RankPlace(Result, frozen=True, kw_only=True):
    """Where one rank of the first launch was."""

    rank: int
    host: str
    cpus_allowed: str | None
    cpu: int | None


class PlacementResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    """Where ranks were asked to go, and where they were found."""

    name: str
    bind: str
    spread: str | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    hosts: list[str] | None = None
    observed: Annotated[list[RankPlace], Meta(description="ranks of its first launch")]
    differs: Annotated[list[str], Meta(description="what of it the ranks of any launch did not find")]


class LaunchCounts(Result, frozen=True, kw_only=True):
    """Launches of the run."""

    planned: int
    done: int
    failed: int


class RunResult(Result, frozen=True, kw_only=True):
    """Who, when, where, with what."""

    id: str
    folder: str
    campaign: str
    title: str
    started: Annotated[str | None, Meta(description="ISO 8601; null: an imported run whose logs do not state it")]
    finished: str | None
    wall_s: float | None
    seed: int | None
    engine: Annotated[str | None, Meta(description="version of the engine; null for an imported log")]
    slowpath: Annotated[str, Meta(description="version")]
    imported: bool
    mpi: Annotated[MpiResult, Meta(description="the first of mpis that is there")]
    mpis: list[MpiResult]
    machine: Annotated[dict[str, Any], Meta(description="as run.json has it")]
    launches: LaunchCounts
    rounds: int
    status: Literal["running", "complete", "interrupted", "partial"]
    command: Annotated[list[str] | None, Meta(description="how to run it again")]
    environments: list[EnvironmentResult]
    placements: list[PlacementResult]
    quantum_ns: Annotated[float | None, Meta(description="largest clock quantum of any rank; null: not known")]


class ContrastSide(Result, frozen=True, kw_only=True):
    """One side: a phase of a cell, and what the axis is set to there."""

    cell: int
    phase: Phase
    label: str
    value: str


class Reproduce(Result, frozen=True, kw_only=True):
    """Command lines of both sides."""

    a: str | None
    b: str | None


class ContrastResult(Result, frozen=True, kw_only=True, rename={"default_side": "usual"}):
    """Two cells, or two phases of one, that differ in one thing. ratio is b over a: above 1, b takes longer."""

    id: str
    group: Annotated[str, Meta(description="the contrast's name in the campaign")]
    question: str
    axis: Annotated[str, Meta(description="the one thing that differs: a parameter, mpi, environment, ... or phase")]
    a: ContrastSide
    b: ContrastSide
    where: Annotated[str, Meta(description="what both sides have in common, in words")]
    default_side: Annotated[
        Literal["a", "b"] | None, Meta(description="the side of users who change nothing; null: neither")
    ] = None
    metric: str
    control: Annotated[bool, Meta(description="nothing differs: expected same")]
    explains: Annotated[bool, Meta(description="states what something costs; never a slow path")]
    minimum_effect: Annotated[float, Meta(description="ratio below which a difference is called same, as 0.03")]
    suspect: Annotated[list[str], Meta(description="what is doubtful about its values")]
    a_value_s: float | None = None
    b_value_s: float | None = None
    ratio: float | None = None
    interval: Interval | None = None
    interval_kind: str | None = None
    level: float | None = None
    verdict: Annotated[VerdictWord | None, Meta(description="null: not measured")] = None
    reason: Annotated[str | None, Meta(description="what the verdict rests on, or why there is none")] = None
    p: float | None = None
    p_adjusted: float | None = None
    family: Annotated[str | None, Meta(description="contrasts whose p values are adjusted together")] = None
    family_size: int | None = None
    launches: Annotated[int, Meta(description="pairs used")] = 0
    pairs: Annotated[tuple[Interval, ...], Meta(description="seconds of a and b in each round")] = ()
    within_launch: Annotated[bool | None, Meta(description="a and b ran in the same launches")] = None
    interleaved: bool
    more_pairs: int | None = None
    remedy: Annotated[str | None, Meta(description="line that moves the user to the faster side")] = None
    reproduce: Reproduce


class Line(Result, frozen=True, kw_only=True):
    """A line of the verdict."""

    level: Level
    text: str
    contrast: Annotated[str | None, Meta(description="id of the contrast on which it rests")]


class Verdict(Result, frozen=True, kw_only=True):
    """The few sentences on top of a report."""

    headline: str
    lines: list[Line]


class LawCoefficient(Result, frozen=True, kw_only=True):
    """One term of a law."""

    name: str
    per: Annotated[str | None, Meta(description="null: once, else for each what")]
    unit: str
    value: float
    interval: Interval | None
    interval_kind: str | None


class LimitBracket(Result, frozen=True, kw_only=True):
    """A limit of a law: it lies above `above` and not above `up_to`."""

    covariate: str
    above: float
    up_to: float


class LawResult(Result, frozen=True, kw_only=True):
    """A law as a finding carries it."""

    name: Annotated[str | None, Meta(description="null where no law may be named; refused gives the reason")]
    formula: str | None
    coefficients: list[LawCoefficient]
    brackets: list[LimitBracket]
    residual_ratio: Annotated[float | None, Meta(description="root mean square over points")]
    left_out_ratio: Annotated[float | None, Meta(description="error at points left out of the fit")]
    runner_up: str | None
    refused: str | None
    separating: Annotated[list[dict[str, float]], Meta(description="points that would tell the candidates apart")]
    points: int
    launches: int
    text: Annotated[str, Meta(description="one line")]


class Leg(Result, frozen=True, kw_only=True):
    """One of the three legs of a finding. text: what is shown, or what is missing and what would supply it."""

    state: Literal["shown", "missing", "refuted"]
    text: str
    evidence: list[str]


class Legs(Result, frozen=True, kw_only=True):
    """What a finding rests on."""

    observed: Leg
    explained: Leg
    proven: Leg


class RemovedRatio(Result, frozen=True, kw_only=True):
    """The share of the gap that a remedy removed."""

    value: float
    interval: Interval | None


class Snippet(Result, frozen=True, kw_only=True, omit_defaults=True):
    """Lines to copy."""

    shell: str | None = None
    modulefile: str | None = None
    code: str | None = None


class RemedyResult(Result, frozen=True, kw_only=True):
    """A remedy of a finding, tried or not."""

    name: str
    text: str
    snippet: Snippet
    removed_ratio: RemovedRatio | None
    side_effects: list[str]
    verdict: Literal["proven", "partial", "not tried", "no effect", "worse"]
    reason: str


class Finding(Result, frozen=True, kw_only=True, rename={"affects_default": "usual"}):
    """A slow path by name, with its evidence (docs/findings.md)."""

    id: Annotated[str, Meta(description="rule and a hash of what it is about; the same over runs")]
    rule: str
    title: str
    text: str
    about: str
    where: str
    mpi: str | None
    environment: Annotated[str | None, Meta(description="null: several, or not reported")]
    placement: str | None
    status: Literal["observed", "explained", "proven"]
    affects_default: Annotated[
        bool | None, Meta(description="whether users who change nothing are on the slow side; null: neither side")
    ]
    ratio: Annotated[float | None, Meta(description="slow over usual; null where nothing usual was measured")]
    interval: Interval | None
    excess_s: Annotated[float | None, Meta(description="slow minus usual, per operation")]
    metric: str
    phase: str
    law: LawResult | None
    legs: Legs
    missing: Annotated[list[str], Meta(description="which leg is missing, and what would supply it")]
    cause: Annotated[str | None, Meta(description="null unless explained")]
    hypotheses: list[str]
    contrasts: list[str]
    cells: list[int]
    slow_cells: Annotated[list[int], Meta(description="the first is the one that the text is about")]
    fast_cells: list[int]
    merged: Annotated[list[str], Meta(description="ids of findings folded into it")]
    doubts: list[str]
    remedies: list[RemedyResult]
    next: Annotated[list[str], Meta(description="what would be measured next")]


class NodePair(Result, frozen=True, kw_only=True):
    """One pair of nodes against the median of all other pairs of the same round."""

    a: str
    b: str
    cell: int
    launches: int
    value_s: float | None
    interval: Interval | None
    ratio: float | None
    ratio_interval: Interval | None
    interval_kind: str | None
    verdict: VerdictWord | None
    reason: str | None


class NodePairs(Result, frozen=True, kw_only=True):
    """Cells that differ in their pair of nodes alone."""

    label: str
    group: str
    metric: Annotated[str | None, Meta(description="null: no pair was measured")]
    nodes: list[str]
    minimum_effect: float
    pairs: list[NodePair]


class SkippedRow(Result, frozen=True, kw_only=True):
    """What was not measured, and why."""

    cell: Annotated[int | None, Meta(description="null: a whole launch")]
    label: str
    status: str
    reason: str
    launches: int
    log: Annotated[str | None, Meta(description="path in the run folder")]
    output: Annotated[str | None, Meta(description="last lines of the job")]


class Results(Result, frozen=True, kw_only=True):
    """All that is concluded from a run folder."""

    schema: int
    run: RunResult
    verdict: Verdict
    cells: list[CellResult]
    contrasts: list[ContrastResult]
    findings: Annotated[list[Finding], Meta(description="the strongest first")]
    cannon: Annotated[CannonResults | None, Meta(description="null: no cells of experiment cannon")]
    put: Annotated[PutResults | None, Meta(description="null: no measured cells of experiment put")] = None
    node_pairs: list[NodePairs]
    skipped: list[SkippedRow]
    notes: list[str]

    def cell(self, number: int) -> CellResult:
        """Raises: KeyError."""
        for cell in self.cells:
            if cell.cell == number:
                return cell
        raise KeyError(number)
