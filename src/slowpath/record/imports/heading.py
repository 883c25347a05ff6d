# SPDX-License-Identifier: Apache-2.0
"""What a table's heading says of its columns: which holds the mean, and in which unit. A unit that isn't known is
refused, never taken for another. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.record.imports.table import time_s, wrong

_S = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "\u00b5": Decimal("1e-6"), "\u03bc": Decimal("1e-6"),
      "m": Decimal("1e-3"), "": Decimal(1)}  # fmt: skip
TIMES_S = {f"{prefix}{second}": value for prefix, value in _S.items() for second in ("s", "sec")}
UNITS = ("ns", "us", "ms", "s")  # that a user can state
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
             "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}  # fmt: skip
RATES_BYTES_PER_S = {
    **{f"{p}B/{s}": Decimal(n) for p, n in _PREFIXES.items() for s in ("s", "sec")},
    **{f"{p}{bit}": Decimal(n) / 8 for p, n in _PREFIXES.items() for bit in ("bps", "b/s", "bit/s")},
}
_UNIT = re.compile(r"(.+?)\s*[\[(]\s*([^\])]*?)\s*[\])]")


@dataclass(frozen=True)
class Heading:
    """Names of the columns as printed, and where the mean of an operation stands. time: (column, seconds of its unit).
    rate: (column, bytes per second of its unit).  messages: the column of messages per second.
    """

    columns: Sequence[str]
    time: tuple[str, Decimal] | None = None
    rate: tuple[str, Decimal] | None = None
    messages: str | None = None

    def mean(self, values: Mapping[str, Decimal], size: int | None) -> tuple[Decimal | None, str | None]:
        """Mean seconds of one operation, or None and why. Rates are of all pairs together, as messages are."""
        if self.time is not None:
            name, unit_s = self.time
            found, why = time_s(values[name], unit_s)
            return found, why and f"{name} {why}"
        if self.messages is not None and values[self.messages]:  # more digits than short messages' bandwidth has
            return 1 / values[self.messages], None
        if self.rate is not None and size:
            name, unit_bytes_per_s = self.rate
            if values[name] == 0:
                return None, f"{name} is printed as {values[name]}, below the digits of the table"
            return Decimal(size) / (values[name] * unit_bytes_per_s), None
        return None, "the table has no column of times or bandwidths that is understood"


def read_heading(
    path: Path, line: int, columns: Sequence[str], times: Sequence[str], rates: Sequence[str], unit: str | None
) -> Heading:
    """Return where the mean stands among `columns`.

    Args: times, rates: columns that can hold it, without their units, the first that is there counts.  unit: of times
          as the user states it, for a heading that doesn't.
    Raises: RecordError: a unit that is unknown, missing, or another than the stated one.
    """
    named = {name_and_unit(column)[0]: column for column in columns}
    time = next((named[name] for name in times if name in named), None)
    rate = next((named[name] for name in rates if name in named), None)
    messages = named.get("Messages/s")
    if time is not None:
        return Heading(columns, time=(time, _time_unit_s(path, line, time, unit)))
    if rate is not None:
        return Heading(columns, rate=(rate, _rate_unit(path, line, rate)), messages=messages)
    return Heading(columns, messages=messages)


def name_and_unit(column: str) -> tuple[str, str]:
    """`Latency (us)` -> name and unit; the unit is empty where none is printed."""
    found = _UNIT.fullmatch(column)
    if found is not None:
        return found[1], found[2]
    return column, column if column in RATES_BYTES_PER_S else ""


def time_unit_s(path: Path, line: int, unit: str) -> Decimal:
    """Seconds of a unit of time.  Raises: RecordError for one that is none."""
    if unit in TIMES_S:
        return TIMES_S[unit]
    raise wrong(path, line, f"'{unit[:40]}' is not a known unit of time; convert the column to ns, us, ms or s")


def stated_unit_s(path: Path, line: int, what: str, printed: str, stated: str | None) -> Decimal:
    """Seconds of the unit that is printed, or else stated.  Raises: RecordError: neither, or two that differ."""
    if not printed and stated is None:
        raise wrong(path, line, f"no unit is printed for '{what}'; state it: --unit us (or {', '.join(UNITS)})")
    found = time_unit_s(path, line, printed or stated or "")
    if stated is not None and TIMES_S[stated] != found:
        raise wrong(path, line, f"'{what}' is in {printed}, but --unit states {stated}; leave --unit out")
    return found


def _time_unit_s(path: Path, line: int, column: str, stated: str | None) -> Decimal:
    name, printed = name_and_unit(column)
    return stated_unit_s(path, line, name, printed, stated)


def _rate_unit(path: Path, line: int, column: str) -> Decimal:
    unit = name_and_unit(column)[1]
    if unit in RATES_BYTES_PER_S:
        return RATES_BYTES_PER_S[unit]
    todo = "convert the column to MB/s, MiB/s, GB/s, GiB/s, Mbps or Gbps, and name it"
    what = f"'{unit[:40]}' is no known unit of bandwidth" if unit else f"'{column[:40]}' has no unit"
    raise wrong(path, line, f"{what}; {todo}")


def unknown_columns(path: Path, line: int, rest: str) -> RecordError:
    """The error for words of a heading that are no column."""
    return wrong(path, line, f"'{rest[:60]}' in the heading is not a known column; restore the heading")
