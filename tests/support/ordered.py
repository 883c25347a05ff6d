# SPDX-License-Identifier: Apache-2.0
"""A program that knows what it costs: ranks that compute, send, receive and meet, by a model of their own."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.watch.what_if import ENTRY, RETURN, CallOrder


@dataclass(frozen=True)
class Compute:
    seconds: float


@dataclass(frozen=True)
class Send:
    """Eager: returns when it has copied, half of the message's time; else when the receiver has the bytes."""

    to: int
    kind: int
    eager: bool = False


@dataclass(frozen=True)
class Receive:
    source: int


@dataclass(frozen=True)
class Meet:
    """A barrier."""

    seconds: float = 1e-6


Step = Compute | Send | Receive | Meet


class Call:
    """One call: who made it, when, and what it depends on."""

    def __init__(self, rank: int, start_s: float, kind: int | None = None) -> None:
        self.rank, self.start_s, self.kind = rank, start_s, kind
        self.end_s: float | None = None
        self.after: list[tuple[Call, int]] = []


class Machine:
    """Ranks that run until none can go on. message_s: what a message of each kind takes, seconds."""

    def __init__(self, programs: Sequence[Sequence[Step]], message_s: Mapping[int, float]) -> None:
        self.steps = [deque(program) for program in programs]
        self.message_s = message_s
        self.clock = [0.0] * len(programs)
        self.calls: list[Call] = []
        self.open: list[Call | None] = [None] * len(programs)
        self.sent: dict[tuple[int, int], deque[tuple[Call, Send]]] = defaultdict(deque)
        self.meeting: list[Call] = []

    def run(self) -> None:
        going = True
        while going:
            going = False
            for rank in range(len(self.steps)):
                while self.steps[rank] and self.advance(rank):
                    going = True
        assert not any(self.steps), "the program deadlocks"

    def advance(self, rank: int) -> bool:
        """Whether the rank got on."""
        step, call = self.steps[rank][0], self.open[rank]
        if call is None:
            call = self.enter(rank, step)
            self.open[rank] = call
        if call is None:
            self.clock[rank] += step.seconds if isinstance(step, Compute) else 0.0
        else:
            if isinstance(step, Receive) and call.end_s is None:
                self.receive(rank, step, call)
            if call.end_s is None:
                return False
            self.clock[rank] = call.end_s
        self.open[rank] = None
        self.steps[rank].popleft()
        return True

    def enter(self, rank: int, step: Step) -> Call | None:
        if isinstance(step, Compute):
            return None
        call = Call(rank, self.clock[rank], step.kind if isinstance(step, Send) else None)
        self.calls.append(call)
        if isinstance(step, Send):
            self.sent[rank, step.to].append((call, step))
            if step.eager:
                call.end_s = call.start_s + self.message_s[step.kind] / 2
        elif isinstance(step, Meet):
            self.meet(call, step)
        return call

    def receive(self, rank: int, step: Receive, call: Call) -> None:
        if not self.sent[step.source, rank]:
            return
        sender, message = self.sent[step.source, rank].popleft()
        whole, call.kind = self.message_s[message.kind], message.kind
        if sender.end_s is not None:
            call.end_s = max(call.start_s, sender.end_s) + whole / 2
            call.after.append((sender, RETURN))
        else:
            call.end_s = sender.end_s = max(call.start_s, sender.start_s) + whole
            call.after.append((sender, ENTRY))
            sender.after.append((call, ENTRY))

    def meet(self, call: Call, step: Meet) -> None:
        self.meeting.append(call)
        if len(self.meeting) == len(self.steps):
            end_s = max(call.start_s for call in self.meeting) + step.seconds
            for waiting in self.meeting:
                waiting.end_s = end_s
                waiting.after += [(other, ENTRY) for other in self.meeting if other is not waiting]
            self.meeting = []


def run(programs: Sequence[Sequence[Step]], message_s: Mapping[int, float]) -> tuple[CallOrder, float]:
    """The order of calls, and the time at which the last rank ended."""
    machine = Machine(programs, message_s)
    machine.run()
    calls = machine.calls
    number = {id(call): i for i, call in enumerate(calls)}
    after = [(number[id(call)], number[id(other)], seconds) for call in calls for other, seconds in call.after]
    done = [(i, call.kind) for i, call in enumerate(calls) if call.kind is not None]
    order = CallOrder(
        np.array([call.rank for call in calls]),
        np.zeros(len(calls), dtype=np.int64),
        np.array([call.start_s for call in calls]),
        np.array([call.end_s for call in calls], dtype=float),
        np.array(after, dtype=np.int64).reshape(-1, 3),
        np.array(done, dtype=np.int64).reshape(-1, 2),
    )
    return order, max(machine.clock)
