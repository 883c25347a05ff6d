# SPDX-License-Identifier: Apache-2.0
"""Results of a watched program for tests: a halo exchange whose rank 3 sends late, with one priced slow path."""

from __future__ import annotations

from typing import Any

from slowpath.core.finding_results import RemedyResult, Snippet
from slowpath.slowpaths.registry import find
from slowpath.watch.proof import Proof, ProofEffect, ProofRun, ProofWitness
from slowpath.watch.results import (
    WATCH_SCHEMA,
    Account,
    AccountName,
    CallCount,
    CallSite,
    Coverage,
    MessageClass,
    Pair,
    RankTime,
    Slice,
    WatchedProgram,
    WatchFinding,
    WatchResults,
)

MIB = 2**20
SPAN_S = 41.2
FORWARD, WAITALL, REDUCE, STRIPPED = 0, 1, 2, 3  # places
LATE = 3  # the rank that sends late


def a_program(**changes: Any) -> WatchedProgram:
    fields: dict[str, Any] = {
        "command": ("mpiexec", "-n", "4", "./lmp", "-in", "in.halo"),
        "program": "lmp",
        "ranks": 4,
        "recorded_ranks": 4,
        "hosts": ("n1",),
        "interface": "mpich",
        "library": "MPICH Version: 5.0.2",
        "library_path": "/opt/mpich/lib/libmpi.so.12",
        "thread_level": "funneled",
        "exit_code": 0,
        "signal": None,
        "wall_s": 41.6,
        "span_s": SPAN_S,
        "started": "2026-11-22T21:08:40+00:00",
    }
    return WatchedProgram(**(fields | changes))


def a_site(function: str = "CommBrick::forward_comm(int)", line: int | None = 512, **changes: Any) -> CallSite:
    fields: dict[str, Any] = {
        "function": function,
        "file": None if line is None else "src/comm_brick.cpp",
        "line": line,
        "object": "lmp",
        "offset": 0x51230,
        "callers": ("Verlet::run(int)", "Run::command(int, char**)", "main"),
    }
    return CallSite(**(fields | changes))


def sites() -> tuple[CallSite, ...]:
    return (
        a_site(),
        a_site("CommBrick::exchange()", 688, offset=0x52110),
        a_site("Thermo::compute(int)", 301, file="src/thermo.cpp", offset=0x91000),
        a_site("", None, object="libplugin.so", offset=0x1F40, callers=()),
    )


def a_class(number: int = 0, call: str = "MPI_Sendrecv", **changes: Any) -> MessageClass:
    fields: dict[str, Any] = {
        "id": number,
        "call": call,
        "side": "both",
        "site": FORWARD,
        "bytes_low": MIB,
        "bytes_high": 2 * MIB - 1,
        "first": False,
        "memory": "mapping",
        "page_bytes": 4096,
        "allocation_bytes": 8 * MIB + 4096,
        "is_odd": False,
        "start": "page",
        "block_bytes": None,
        "ranks": 4,
        "count": 18_432,
        "bytes": 18_432 * 1_992_294,
        "time_s": 6.4,
        "wait_s": 1.1,
        "transfer_s": 5.1,
    }
    return MessageClass(**(fields | changes))


def classes() -> tuple[MessageClass, ...]:
    small = {"bytes_low": 96, "bytes_high": 127, "memory": "heap"}
    return (
        a_class(),
        a_class(1, "MPI_Waitall", site=WAITALL, bytes_low=0, bytes_high=0, side="none", count=9_216, bytes=0,
                time_s=2.9, wait_s=2.2, transfer_s=None, memory="not known",
                page_bytes=None, allocation_bytes=None, is_odd=None, start="not known"),
        a_class(2, first=True, count=64, bytes=64 * 1_992_294, time_s=0.4, wait_s=0.02, transfer_s=0.37),
        a_class(3, "MPI_Isend", side="send", site=WAITALL, count=30_602, bytes=30_602 * 110, time_s=0.03, wait_s=0.0,
                transfer_s=0.028, allocation_bytes=4096, start="line", **small),
        a_class(4, "MPI_Irecv", side="receive", site=WAITALL, count=30_602, bytes=30_602 * 110, time_s=0.02,
                wait_s=None, transfer_s=None, start="elsewhere", **small),
        a_class(5, "MPI_Allreduce", side="both", site=REDUCE, bytes_low=32, bytes_high=63, memory="stack",
                allocation_bytes=None, is_odd=None, start="elsewhere", count=1_600, bytes=1_600 * 48, time_s=0.9,
                wait_s=0.7, transfer_s=0.1),
        a_class(6, "MPI_Send", side="send", site=STRIPPED, bytes_low=65_536, bytes_high=131_071, block_bytes=8,
                count=800, bytes=800 * 65_536, time_s=0.31, wait_s=0.0, transfer_s=0.3,
                is_odd=True, start="elsewhere"),
    )  # fmt: skip


def a_remedy(**changes: Any) -> RemedyResult:
    fields: dict[str, Any] = {
        "name": "huge pages of malloc",
        "text": "Let malloc ask for huge pages.",
        "phrase": "huge pages of malloc",
        "snippet": Snippet(shell="export GLIBC_TUNABLES=glibc.malloc.hugetlb=1"),
        "removed_ratio": None,
        "side_effects": [],
        "verdict": "not tried",
        "reason": "",
    }
    return RemedyResult(**(fields | changes))


def a_finding(**changes: Any) -> WatchFinding:
    fields: dict[str, Any] = {
        "id": "SP008:lmp+51230",
        "rule": "SP008",
        "title": "Small pages",
        "text": "18,432 messages of 1.9 MiB from malloc on 4 KiB pages cost 2.2 s a rank more than on huge pages.",
        "seconds": 2.2,
        "interval": (1.9, 2.5),
        "share": 0.053,
        "saved_s": 2.0,
        "saved_interval": (1.6, 2.4),
        "messages": 18_496,
        "sites": (FORWARD,),
        "remedies": (a_remedy(),),
        "prove": "--remedy huge-pages",
        "change": None,
        "status": "priced",
    }
    fields |= changes
    return WatchFinding(**({"name": find(fields["rule"]).name} | fields))


def findings() -> tuple[WatchFinding, ...]:
    return (
        a_finding(),
        a_finding(
            id="SP015:libplugin.so+1f40", rule="SP015", title="Datatype with small blocks",
            text="800 messages of 64 KiB in blocks of 8 bytes cost 0.28 s a rank more than packed ones.",
            seconds=0.28, interval=(0.2, 0.36), share=0.0068, saved_s=None, saved_interval=None,
            messages=800,
            sites=(STRIPPED,),
            remedies=(a_remedy(name="pack", text="Pack into one buffer before the send.", phrase="packed buffers",
                               snippet=Snippet(code="MPI_Pack(...)"), side_effects=[]),),
            prove=None, change="libplugin.so+0x1f40: pack the 8-byte blocks into one buffer, send that as MPI_BYTE",
        ),
    )  # fmt: skip


def a_proof(**changes: Any) -> Proof:
    """Of huge pages, in four blocks: 2 of 41 s saved."""
    walls = {"as it is": 41.4, "control": 41.3, "remedy": 39.4}
    runs = tuple(
        ProofRun(number=1 + 3 * block + place, phase="proof", block=block, side=side, wall_s=wall + 0.1 * block,
                 exit_code=0, failed=None, output_sha256="0" * 64, minor_faults=9000)
        for block in range(4) for place, (side, wall) in enumerate(walls.items())
    )  # fmt: skip
    fields: dict[str, Any] = {
        "schema": 1,
        "slowpath": "0.1.0",
        "remedy": "huge-pages",
        "text": "malloc asks for huge pages",
        "rules": ("SP008", "SP009"),
        "command": ("mpiexec", "-n", "4", "./lmp"),
        "remedied": ("mpiexec", "-n", "4", "./lmp"),
        "variables": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
        "unset": (),
        "compared": ("stdout",),
        "ignored": (),
        "started": "2026-11-22T22:08:40+00:00",
        "seed": 1,
        "level": 0.95,
        "minimum_effect": 0.01,
        "smallest_decidable": 0.02,
        "run_s": 41.4,
        "spent_s": 489.0,
        "effect": ProofEffect(ratio=0.952, interval=(0.94, 0.964), blocks=4),
        "control": ProofEffect(ratio=0.998, interval=(0.985, 1.011), blocks=4),
        "witness": ProofWitness(state="taken", text="page faults of a run: 492,977 as it is, 13,386 with the remedy"),
        "verdict": "proven",
        "saved_s": 2.0,
        "saved_interval": (1.5, 2.5),
        "reason": "the interval lies below 1; the control's contains 1 and not the effect",
        "runs": runs,
    }
    return Proof(**(fields | changes))


def a_rank(rank: int = 0, **changes: Any) -> RankTime:
    late = rank == LATE
    fields: dict[str, Any] = {
        "rank": rank,
        "host": f"n{1 + rank // 64}",
        "span_s": SPAN_S,
        "mpi_s": 8.85 if late else 11.95 + 0.02 * (rank % 8),
        "ended": "finalized",
    }
    return RankTime(**(fields | changes))


def slices(ranks: int, each: int = 120) -> tuple[Slice, ...]:
    """The stretch from a third to two fifths of the run was not kept."""
    made = []
    for rank in range(ranks):
        for place in range(each):
            waiting = 0.04 if rank == LATE else 0.08 + 0.1 * (place % 7 == rank % 7)
            transfer = 0.15 + 0.05 * ((place + rank) % 3)
            kept = not each // 3 <= place < each * 2 // 5
            made.append(
                Slice(
                    rank=rank,
                    start_s=SPAN_S * place / each,
                    end_s=SPAN_S * (place + 1) / each,
                    computing=1 - waiting - transfer - 0.03 if kept else 0.0,
                    waiting=waiting if kept else 0.0,
                    transfer=transfer if kept else 0.0,
                    other=0.03 if kept else 0.0,
                    is_kept=kept,
                )
            )
    return tuple(made)


def pairs(ranks: int) -> tuple[Pair, ...]:
    """A ring, both ways, with one pair that sends a hundredth."""
    made = []
    for rank in range(ranks):
        for other in {(rank + 1) % ranks, (rank - 1) % ranks} - {rank}:
            messages = 92 if (rank, other) == (0, 1) else 9_216
            made.append(Pair(source=rank, destination=other, messages=messages, bytes=messages * 1_000_000))
    return tuple(made)


def a_coverage(**changes: Any) -> Coverage:
    fields: dict[str, Any] = {
        "imported": 214,
        "wrapped": 212,
        "unseen": ("MPI_File_open", "MPI_File_write_at_all"),
        "calls": 92_300,
        "messages": 49_900,
        "recorded_messages": 31_000,
        "matched_share": 1.0,
        "contradictions": 0,
        "kept_share": 0.94,
        "clock_error_s": 0.0,
        "own_cost_s": 0.0014,
        "notes": ("rank 2: 12 events found no room",),
    }
    return Coverage(**(fields | changes))


def accounts(size: int) -> tuple[Account, ...]:
    parts: dict[AccountName, float] = {"computing": 30.0, "late sender": 6.2, "slow transfer": 5.0}
    return tuple(
        Account(name=name, seconds=value, share=value / SPAN_S, by_rank=(value,) * size)
        for name, value in parts.items()
    )


def results(size: int = 4, **changes: Any) -> WatchResults:
    """Of `size` ranks, 64 of them with slices at most."""
    shown = min(size, 64)
    fields: dict[str, Any] = {
        "schema": WATCH_SCHEMA,
        "slowpath": "0.1.0",
        "program": a_program(ranks=size, recorded_ranks=size),
        "coverage": a_coverage(),
        "verdict": (
            f"lmp, {size} ranks, 41.2 s: 27 % in MPI; largest cause: small pages (saves 2.00 s)",
            "1. Saves 2.00 s [1.60, 2.40] (priced on this machine). small pages: slowpath prove w --remedy huge-pages",
            "Not decided: calls that are not seen: MPI_File_*.",
        ),
        "saved_s": 2.0,
        "saved_interval": (1.6, 2.4),
        "findings": findings(),
        "accounts": accounts(size),
        "ranks": tuple(a_rank(rank) for rank in range(size)),
        "calls": (
            CallCount(name="MPI_Sendrecv", family="point to point", calls=18_496, time_s=6.8, bytes=18_496 * 1_992_294),
            CallCount(name="MPI_Waitall", family="completion", calls=9_216, time_s=2.9, bytes=0),
            CallCount(name="MPI_Allreduce", family="collective", calls=1_600, time_s=0.9, bytes=1_600 * 48),
            CallCount(name="MPI_Send", family="point to point", calls=800, time_s=0.31, bytes=800 * 65_536),
            CallCount(name="MPI_Isend", family="point to point", calls=30_602, time_s=0.03, bytes=30_602 * 110),
            CallCount(name="MPI_Irecv", family="point to point", calls=30_602, time_s=0.02, bytes=0),
            CallCount(name="MPI_Comm_rank", family="management", calls=4, time_s=0.0, bytes=0),
        ),
        "classes": classes(),
        "sites": sites(),
        "pairs": pairs(size),
        "slices": slices(shown),
        "shown_ranks": None if shown == size else tuple(range(shown)),
    }  # fmt: skip
    return WatchResults(**(fields | changes))
