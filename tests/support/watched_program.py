# SPDX-License-Identifier: Apache-2.0
"""A program of ranks that compute and call, each with its own clock: written down as a watch, and concluded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from slowpath.findings.program_pattern import Floats, Ints, Messages, ProgramCalls, Waits
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.results import WatchResults
from support.watch_record import Job, Rank, buffer_class

COMPUTE_S, CALL_S, STEP_S = 100e-6, 1e-6, 50e-9
ITERATIONS = 20
HERE, THERE, ELSEWHERE = 1, 2, 3  # rows of sites; 0 is the coarse one


def described(folder: Path, **fields: Any) -> Path:
    """The folder of a watch, with its description.  Args: fields: other than of a program that ended well."""
    usual = {"slowpath": "1", "command": ("./app",), "started": "2026-01-01T00:00:00Z", "working_folder": "/",
             "host": "node1", "library": "/l.so", "wall_s": 2.0, "exit_code": 0}  # fmt: skip
    write_watch(folder, WatchInfo(**{**usual, **fields}))
    return folder


@dataclass
class Program:
    """Ranks that compute and call; each has its own clock. `call` moves the clock over one call and a loop's step."""

    ranks: int
    job: Job = field(init=False)
    now: list[float] = field(init=False)
    call_s: float = CALL_S

    def __post_init__(self) -> None:
        self.job = Job(self.ranks, header={"call_cost_ns": 20})
        self.now = [0.01] * self.ranks
        for rank in self.job.ranks:
            for place in (HERE, THERE, ELSEWHERE):
                rank.site(0x1000 * place)

    def compute(self, seconds: float = COMPUTE_S) -> None:
        self.now = [at + seconds for at in self.now]

    def send(self, source: int, to: int, size: int = 8, site: int = HERE, offset: int = 0, tag: int = 0) -> float:
        """A send that goes at once; the time at which it began."""
        start = self.now[source]
        self.at(source).send(to, start_s=start, end_s=start + self.call_s, message_bytes=size, site=site,
                             start_offset=offset, tag=tag)  # fmt: skip
        self.now[source] = start + self.call_s + STEP_S
        return start

    def receive(self, rank: int, source: int, sent: float, size: int = 8, site: int = THERE, offset: int = 0,
                tag: int = 0) -> None:  # fmt: skip
        """A receive that ends a call after the message was sent, or after its own begin."""
        start = self.now[rank]
        end = max(start, sent) + self.call_s
        self.at(rank).receive(source, start_s=start, end_s=end, message_bytes=size, site=site, start_offset=offset,
                              tag=tag)  # fmt: skip
        self.now[rank] = end + STEP_S

    def message(self, source: int, to: int, size: int = 8) -> None:
        self.receive(to, source, self.send(source, to, size), size)

    def all(self, call: str = "MPI_Allreduce", size: int = 8, site: int = HERE, root: int = -1,
            offset: int = 0, took_s: float | None = None) -> None:  # fmt: skip
        """A collective that all leave together."""
        end = max(self.now) + (self.call_s if took_s is None else took_s)
        for rank in self.job.ranks:
            rank.collective(call, start_s=self.now[rank.rank], end_s=end, message_bytes=size, site=site, root=root,
                            start_offset=offset)  # fmt: skip
        self.now = [end + STEP_S] * self.ranks

    def at(self, rank: int) -> Rank:
        return self.job.ranks[rank]

    def watched(self, folder: Path) -> WatchResults:
        end_s = max(self.now) + 0.001
        self.job.write(folder / "ranks", end_s)
        return concluded_watch(described(folder, wall_s=end_s))


ROUNDS, LENGTH = 40, 2**21


def kept_ping_pong(tmp_path: Path, one_way_s: float = 1e-3, compute_s: float = 0.5e-3) -> Path:
    """Rank 0 sends and waits for the answer; both compute in between. Sends return with the message."""
    job = Job(2)
    for rank in job.ranks:
        rank.site(0x1234)
        rank.allocation(LENGTH, buffer_class=buffer_class(2))
    at = 0.01
    for _ in range(ROUNDS):
        for sender, other in ((0, 1), (1, 0)):
            end = at + one_way_s
            job.ranks[sender].send(other, tag=1, start_s=at, end_s=end, message_bytes=LENGTH, site=0, allocation=0)
            job.ranks[other].receive(
                sender, tag=1, start_s=at - compute_s / 2, end_s=end, message_bytes=LENGTH, site=0, allocation=0
            )
            at = end + compute_s
    job.write(tmp_path / "ranks", at)
    return described(tmp_path)


def made_calls(rank: Ints, start_s: Floats, call_s: float, **columns: Any) -> ProgramCalls:
    """Calls of two ranks, which wait for nobody and move nothing but for what `columns` says."""
    zero, seconds = 0 * rank, np.zeros(rank.size)
    none, no = zero - 1, zero > 0
    usual: dict[str, Any] = {
        "communicator": zero, "bytes": zero, "root": none, "offset": zero, "group": none, "target": zero,
        "requests": zero, "meets": none, "weight": seconds + 1, "time_weight": seconds + 1, "target_wait_s": seconds,
        "detail": none, "block_bytes": seconds + np.nan, "counted": np.zeros((0, 4), np.int64),
        "counted_s": seconds[:0], "messages": Messages(*[zero[:0]] * 7), "members": (2,), "ranks": 2, "span_s": 1.0,
        "within": ("",) * 4, "waits": Waits(none, start_s, zero[:0], zero[:0], no[:0], seconds[:0]),
        **dict.fromkeys(("is_collective", "is_message", "is_one_sided", "brings", "is_read", "in_vain"), no),
    }  # fmt: skip
    times = {"start_s": start_s, "end_s": start_s + call_s, "own_s": seconds + call_s}
    return ProgramCalls(rank=rank, thread=rank, **times, **{**usual, **columns})


def calls_in_turn(names: tuple[str, ...], turns: int, **columns: Any) -> ProgramCalls:
    """Two ranks, each of which makes these calls in turn, of 1 us and with 1 us between, for the other one's memory."""
    each = turns * len(names)
    rank, number = np.repeat([0, 1], each), np.tile(np.arange(each), 2)
    usual = {"call": number % len(names), "site": number % len(names), "target": 1 - rank, "is_one_sided": rank >= 0}
    return made_calls(rank, number * 2e-6, 1e-6, names=names, **{**usual, **columns})
