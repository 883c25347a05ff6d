# SPDX-License-Identifier: Apache-2.0
"""What a rank had to work with, from the lines `at`, `sample`, `launch` and `started_by` of its record.

A line may be cut off, or say what no kernel says: what can't be read is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slowpath.watch.record.reader import RankRecord

MOST_SAMPLES: Final = 4096
_NUMBER = re.compile(r"[0-9]{1,18}")
_FRACTION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True)
class ResourceSample:
    """One moment. at_ns: CLOCK_MONOTONIC.  ran_ns, waited_ns: of the thread that called MPI, since it began."""

    at_ns: int
    resident_bytes: int
    ran_ns: int
    waited_ns: int
    processor: int | None


@dataclass(frozen=True)
class RecordedResources:
    """begin, end: words of the first and last `at`; empty: none.  samples: in the order of time.

    launch: variables by which the launcher gave the process its rank.  started_by: the parent's program.
    copy_refused: errno of the first copy to or from another process that the kernel refused; None: none was.
    """

    begin: Mapping[str, str]
    end: Mapping[str, str]
    samples: tuple[ResourceSample, ...]
    launch: Mapping[str, str]
    started_by: str | None
    copy_refused: int | None = None

    def number(self, name: str, at_end: bool = True) -> int | None:
        """A whole number of one moment; None: missing."""
        text = (self.end if at_end else self.begin).get(name, "")
        return int(text) if _NUMBER.fullmatch(text) else None

    def fraction(self, name: str) -> float | None:
        """A number with a point, of the first moment."""
        text = self.begin.get(name, "")
        return float(text) if _FRACTION.fullmatch(text) else None

    def between(self, name: str) -> int | None:
        """What a count grew by from begin to end; None: one of them is missing, or it fell."""
        first, last = self.number(name, at_end=False), self.number(name)
        return last - first if first is not None and last is not None and last >= first else None


def resources_in(record: RankRecord) -> RecordedResources:
    """Of one rank; all empty where nothing was recorded."""
    moments = [_words(line) for line in record.text.get("at", ())]
    begin = next((words for moment, words in moments if moment == "begin"), {})
    end = next((words for moment, words in reversed(moments) if moment == "end"), {})
    samples = [one for line in record.text.get("sample", ())[:MOST_SAMPLES] if (one := _sample(line)) is not None]
    launch = dict(
        word.split("=", 1) for line in record.text.get("launch", ())[:1] for word in line.split() if "=" in word
    )
    started_by = next(iter(record.text.get("started_by", ())), None)
    refused = next(iter(record.text.get("copy_refused", ())), "")
    refused_errno = int(refused) if _NUMBER.fullmatch(refused) else None
    samples.sort(key=lambda one: one.at_ns)
    return RecordedResources(begin, end, tuple(samples), launch, started_by, refused_errno)


def _words(line: str) -> tuple[str, dict[str, str]]:
    moment, *words = line.split() or [""]
    return moment, dict(word.split("=", 1) for word in words if "=" in word)


def _sample(line: str) -> ResourceSample | None:
    numbers = line.split()
    if len(numbers) != 5 or not all(map(_NUMBER.fullmatch, numbers[:4])):
        return None
    at_ns, resident, ran, waited = map(int, numbers[:4])
    return ResourceSample(at_ns, resident, ran, waited, int(numbers[4]) if _NUMBER.fullmatch(numbers[4]) else None)
