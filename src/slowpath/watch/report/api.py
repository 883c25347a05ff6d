# SPDX-License-Identifier: Apache-2.0
"""`slowpath.open(path)` of a watch: its typed results, and what was kept of each call as numpy arrays.

    watch = slowpath.open("slowpath-watches/lmp-20261122-210840")
    for finding in watch.results.findings:
        print(finding.rule, finding.seconds, finding.interval)
    events = watch.events
    in_waitall = events.duration_s[events.call == watch.calls.index("MPI_Waitall")].sum()

Nothing is read before it is asked for: watch.json at once, results and records on the first look. Nothing is written.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.watch.attributed import Attributed, attributed
from slowpath.watch.events import Events
from slowpath.watch.folder import WatchInfo, read_watch
from slowpath.watch.match import NO_EVENT
from slowpath.watch.proof import Proof, proof_folders, read_proof
from slowpath.watch.record.job import WatchedJob, read_job
from slowpath.watch.results import RESULTS_FILE, WatchResults, read_watch_results

if TYPE_CHECKING:
    from slowpath.watch.record.reader import RankRecord

MESSAGE = np.dtype([
    ("source", "<i8"), ("destination", "<i8"), ("tag", "<i8"), ("bytes", "<i8"), ("sent_s", "<f8"),
    ("posted_s", "<f8"), ("arrived_s", "<f8"),
])  # fmt: skip


class Watch:
    """The folder of a watched program."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.info: WatchInfo = read_watch(folder)

    def __repr__(self) -> str:
        return f"<Watch {self.path.name!r}>"

    @cached_property
    def results(self) -> WatchResults:
        """As results.json has them.  Raises: RecordError: there are none yet, or they are damaged."""
        if not (self.path / RESULTS_FILE).is_file():
            raise RecordError(f"{self.path}: has no {RESULTS_FILE} yet; make it: slowpath report {self.path}")
        return read_watch_results(self.path)

    @property
    def proofs(self) -> list[Proof]:
        """What `slowpath prove` showed, by number."""
        return [read_proof(folder) for folder in proof_folders(self.path)]

    @cached_property
    def job(self) -> WatchedJob:
        """The records as they were read."""
        return read_job(self.path)

    @property
    def records(self) -> tuple[RankRecord, ...]:
        """One for each rank that left one: structured arrays with the fields of schema/watch.json (`profile`, ...)."""
        return self.job.records

    @cached_property
    def attributed(self) -> Attributed:
        """Everything that was concluded of the kept calls: messages matched, clocks joined, times split."""
        return attributed(self.job)

    @property
    def events(self) -> Events:
        """Kept calls of all ranks, columns of shape (n,); times in seconds, of all hosts on one clock."""
        return self.attributed.events

    @property
    def calls(self) -> tuple[str, ...]:
        """Names of the numbers in `events.call`."""
        return self.attributed.world.calls

    @cached_property
    def messages(self) -> NDArray[Any]:
        """Messages of which both sides were kept, shape (m,), fields of MESSAGE.

        sent_s: the send was called.  posted_s: the receive was called.  arrived_s: the call in which it was complete
        returned; nan where that call was not kept.
        """
        events, pairs = self.attributed.events, self.attributed.matched
        sends, receives = pairs.sends.take(pairs.send), pairs.receives.take(pairs.receive)
        made = np.zeros(pairs.send.size, MESSAGE)
        made["source"], made["destination"] = events.rank[sends.reported], events.rank[receives.reported]
        made["tag"], made["bytes"] = events.tag[sends.reported], events.bytes[sends.reported]
        for name, times, rows in (
            ("sent_s", events.start_s, sends.posted),
            ("posted_s", events.start_s, receives.posted),
            ("arrived_s", events.end_s, receives.done),
        ):
            made[name] = np.where(rows == NO_EVENT, np.nan, times[rows]) if rows.size else 0.0
        return made
