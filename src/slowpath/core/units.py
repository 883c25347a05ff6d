# SPDX-License-Identifier: Apache-2.0
"""Bytes, times, ratios and rates: how people write them, and how they are shown.

Everything is stored in SI base units; KiB, us and GB/s exist only here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from slowpath.core.errors import UsageError, is_not

MAX_BYTES = 2**63 - 1  # the engine holds lengths in a signed 64-bit integer (MPI_Count)
MAX_VALUES = 100_000  # of one list or range
_READABLE = 10_000  # numbers below it are read at a glance
_FEWEST_DIGITS, _MOST_DIGITS = 2, 4  # significant ones, of a number with an interval
_BINARY = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_TERM = re.compile(r"([+-]?)([0-9]+)(KiB|MiB|GiB|TiB)?")
_SUFFIX_LIKE = re.compile(r"([0-9.]+) *([kmgt])i?b?", re.IGNORECASE)
_RANGE = re.compile(r"(?P<first>.+?)\.\.(?P<last>.+?)(?P<sign>[*+])(?P<step>[^*+]+)")


def parse_bytes(text: str) -> int:
    """Length in bytes of `4096`, `1KiB`, `1GiB+1`, `2MiB-64`.

    Returns: 0 to 2^63 - 1.  Raises: UsageError, one line with the nearest right spelling.
    """
    position, total = 0, 0
    while position < len(text) or not text:
        term = _TERM.match(text, position)
        # 20 digits exceed any 64-bit integer; int() itself refuses thousands of them.
        if term is None or (position == 0) != (term[1] == "") or len(term[2].lstrip("0")) > 19:
            raise _no_bytes(text)
        value = int(term[2]) * _BINARY[term[3] or ""]
        total += -value if term[1] == "-" else value
        if not 0 <= max(value, total) <= MAX_BYTES:
            raise _no_bytes(text)
        position = term.end()
    if total < 0:
        raise _no_bytes(text)
    return total


def _no_bytes(text: str) -> UsageError:
    """The nearest right spelling, where there is one."""
    like = _SUFFIX_LIKE.fullmatch(text)
    value = _float_or_none(like[1] if like else text.lstrip("-"))
    exact = value * (_BINARY[like[2].upper() + "iB"] if like else 1) if value is not None else 0
    nearest = spell_bytes(round(exact)) if 0 < exact <= MAX_BYTES else "4096, 1KiB or 1GiB+1, up to 2^63 - 1"
    shown = text if len(text) <= 40 else text[:40] + "..."
    return is_not(shown, "a number of bytes", nearest)


def _float_or_none(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_count(text: str) -> int:
    """Whole number from 0 to 2^63 - 1.  Raises: UsageError."""
    if not re.fullmatch(r"[0-9]{1,30}", text) or int(text) > MAX_BYTES:
        raise is_not(text, "a whole number", 8)
    return int(text)


def parse_seconds(text: str) -> float:
    """Duration in seconds, 0 or more, as a plain decimal such as `0.1` or `1e-3`.  Raises: UsageError."""
    value = _float_or_none(text) if re.fullmatch(r"[0-9.eE+-]{1,40}", text) else None
    if value is None or value < 0:
        raise is_not(text, "a number of seconds", 0.1)
    return value


def expand_values(text: str, parse: Callable[[str], int] = parse_bytes) -> list[int]:
    """Values of a comma list whose parts may be ranges: `8,1KiB`, `1KiB..1MiB*2`, `0..64+8`.

    A range holds its first value and every further one up to its last; the step follows the last `*` or `+`.
    Returns: the values in the order written.  Raises: UsageError.
    """
    values: list[int] = []
    for part in text.split(","):
        values += _expand_range(part, parse) if ".." in part else [parse(part)]
        if len(values) > MAX_VALUES:
            raise _no_range(text)
    return values


def _no_range(text: str) -> UsageError:
    return is_not(text, f"a range of up to {MAX_VALUES} values", "1KiB..1MiB*2 or 0..64+8")


def _expand_range(text: str, parse: Callable[[str], int]) -> list[int]:
    parts = _RANGE.fullmatch(text)
    if parts is None:
        raise _no_range(text)
    first, last = parse(parts["first"]), parse(parts["last"])
    factor = parts["sign"] == "*"
    step = parse_count(parts["step"]) if factor else parse(parts["step"])
    if first > last or step < 1 or (factor and (step < 2 or first == 0)):
        raise _no_range(text)
    values, value = [], first
    while value <= last:
        values.append(value)
        if len(values) > MAX_VALUES:
            raise _no_range(text)
        value = value * step if factor else value + step
    return values


def spell_bytes(count: int) -> str:
    """Short spelling that `parse_bytes` reads back exactly: `1536KiB`, `1GiB+1`.

    Raises: ValueError if count < 0.
    """
    for unit, size in reversed(_BINARY.items()):
        if count >= size and count % size == 0 and count // size < _READABLE:
            return f"{count // size}{unit}"
    text = format_bytes(count).replace(" B", "").replace(" ", "")
    return str(count) if "." in text else text


def format_bytes(count: int) -> str:
    """Exact length for people: `16 MiB`, `1 GiB + 1 B`, `2 MiB - 64 B`, `1.5 MiB`, `8112 B`, `1000000000 B`.

    What is a multiple of a unit is given in it. Else lengths below 1 MiB are bytes: the limits of protocols lie there,
    less a header, and `7 KiB + 944 B` is read by nobody; one byte off a power of two is the point itself, and is shown
    (`64 KiB + 1 B`). From 1 MiB on what is left over is shown next to the multiple, where it takes few digits.

    Raises: ValueError if count < 0.
    """
    if count < 0:
        raise ValueError(f"a length cannot be negative: {count}")
    unit = next((name for name in ("TiB", "GiB", "MiB", "KiB") if count >= _BINARY[name]), None)
    if unit is None:
        return f"{count} B"
    if unit == "KiB" and count % _BINARY[unit]:
        near = next((near for near in (count - 1, count + 1) if near.bit_count() == 1), None)
        return f"{count} B" if near is None else _sum(count, near, "+" if count > near else "-")
    size = _BINARY[unit]
    whole, rest = divmod(count, size)
    if rest * 4 % size == 0:
        return f"{whole}{('', '.25', '.5', '.75')[rest * 4 // size]} {unit}"
    if size - rest <= size // 16 and (whole + 1) * size <= MAX_BYTES:
        return _sum(count, (whole + 1) * size, "-")
    return _sum(count, whole * size, "+")


def _sum(count: int, near: int, sign: str) -> str:
    """`near` and what is between it and `count`, unless that takes too many digits to be read."""
    between = abs(count - near)
    unit = next((name for name in ("GiB", "MiB", "KiB") if between % _BINARY[name] == 0), None)
    number = between // _BINARY[unit] if unit else between
    return f"{format_bytes(near)} {sign} {number} {unit or 'B'}" if number < _READABLE else f"{count} B"


def _decimals(value: float, half_width: float | None) -> int:
    """Digits behind the point: as many as the interval's half-width with two digits has, two to four significant ones.

    Without an interval three significant digits. More than four claim more than some launches can know.
    """
    first = -math.floor(math.log10(abs(value))) if value else 0
    digits = first + 2 if value else 0
    if half_width is not None and half_width > 0 and math.isfinite(half_width):
        # The small addition keeps a half-width of exactly 0.01 from falling into the decade below.
        digits = 1 - math.floor(math.log10(half_width) + 1e-9)
        digits = min(max(digits, first + _FEWEST_DIGITS - 1), first + _MOST_DIGITS - 1) if value else digits
    return min(6, digits)


def _rounded(value: float, half_width: float | None) -> str:
    decimals = _decimals(value, half_width)
    return f"{round(value, decimals):.{max(0, decimals)}f}"


def _scaled(value: float, half_width: float | None, scales: list[tuple[float, str]]) -> str:
    """Number and unit: the largest unit whose rounded number is at least 1, or the smallest there is."""
    for scale, unit in scales:
        shown = _rounded(value / scale, None if half_width is None else half_width / scale)
        if abs(float(shown)) >= 1 or scale == scales[-1][0]:
            return f"{shown} {unit}"
    raise ValueError("no units given")


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, not {value}; a missing value is None and is shown with its reason")
    return value


_TIMES = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")]
_RATES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]


def format_time(value_s: float, half_width_s: float | None = None) -> str:
    """`2.92 ms`: ns, us, ms or s; digits as `format_ratio`.

    Args:   value_s: seconds.  half_width_s: half the width of its interval, seconds, or None.
    Raises: ValueError if not finite.
    """
    return _scaled(_finite(value_s, "a time"), half_width_s, _TIMES)


def seconds(value_s: float) -> str:
    """Three digits, as the run's own time is read: 41.2 s, 0.72 s, 920 us."""
    return f"{format_ratio(value_s)} s" if value_s >= 0.01 or value_s <= 0 else format_time(value_s)


def format_ratio(ratio: float, half_width: float | None = None) -> str:
    """`3.29`: two to four significant digits by the interval's half-width, three without.  Raises: ValueError."""
    return _rounded(_finite(ratio, "a ratio"), half_width)


def format_interval(interval: tuple[float, float], value: float) -> str:
    """`[3.10, 3.50]`: both ends with the digits of the value between them, `[1.3, 4088]`: two at least.

    Raises: ValueError: not finite.
    """
    common = _decimals(value, (interval[1] - interval[0]) / 2)
    return f"[{', '.join(_end(_finite(end, 'an end'), common) for end in interval)}]"


def _end(end: float, common: int) -> str:
    first = -math.floor(math.log10(abs(end))) if end else common
    decimals = max(common, min(6, first + _FEWEST_DIGITS - 1))
    return f"{round(end, decimals):.{max(0, decimals)}f}"


def ratio_words(ratio: float, interval: tuple[float, float] | None) -> str:
    """`3.29x [3.10, 3.50]`; the bare ratio without an interval.  Raises: ValueError."""
    if interval is None:
        return f"{format_ratio(ratio)}x"
    return f"{format_ratio(ratio, (interval[1] - interval[0]) / 2)}x {format_interval(interval, ratio)}"


_ALIKE = 0.02  # as a logarithm: less is not seen next to a ratio


def of_ratio(slow_s: float, fast_s: float, ratio: float) -> tuple[float, float]:
    """The two times of which a ratio is the ratio.

    A ratio is that of pairs of launches, and two medians over launches need not be of one pair: under a common drift
    they can be far from it (2.71x next to 272 us and 114 us). Then both are shifted alike, about their geometric mean.
    """
    if min(slow_s, fast_s, ratio) <= 0 or abs(math.log(slow_s / fast_s / ratio)) <= _ALIKE:
        return slow_s, fast_s
    middle_s = math.sqrt(slow_s * fast_s)
    return middle_s * math.sqrt(ratio), middle_s / math.sqrt(ratio)


_WIDEST_SHARE = 1.0  # of an interval that is shown: of a wider one only the end that decides says anything


def share_words(share: float, interval: tuple[float, float] | None) -> str:
    """Of an excess: `92 % [88, 95]`; `at least 99 %`, `at most 5 %` where one end alone says something.

    A share is a ratio whose denominator, the excess, may nearly vanish in some launches: an end then runs away. No more
    than all of an excess can be gone: what is gained beyond it is another effect.
    Raises: ValueError: not finite.
    """
    value, low, high = (100 * _finite(part, "a share") for part in (share, *(interval or (share, share))))
    if interval is None or low >= 100:
        return f"{min(value, 100.0):.0f} %"
    if value <= 0 and high < 100:
        return f"at most {high:.0f} %" if round(high) > 0 else "none"
    if high - low <= 100 * _WIDEST_SHARE:
        return f"{min(value, 100.0):.0f} % [{low:.0f}, {min(high, 100.0):.0f}]"
    if low > 0:
        return f"at least {low:.0f} %"
    return f"at most {high:.0f} %" if high < 100 else "an unknown share"


def more_words(beyond_s: float | None) -> str:
    """`, and 12.0 us more than the gap`, after the share of a gap; empty where nothing is gained beyond it."""
    return f", and {format_time(beyond_s)} more than the gap" if beyond_s else ""


def format_rate(value_per_s: float, half_width_per_s: float | None = None, unit: str = "B/s") -> str:
    """`46.0 GB/s`: decimal prefixes, as vendors quote rates.  Raises: ValueError."""
    scales = [(scale, prefix + unit) for scale, prefix in _RATES]
    return _scaled(_finite(value_per_s, "a rate"), half_width_per_s, scales)


def plural(count: int, singular: str, many: str | None = None) -> str:
    """Return a count with its noun: `1 launch`, `8 launches`, `2 properties`."""
    if count == 1:
        return f"1 {singular}"
    if many is None:
        many = (
            f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}{'es' if singular.endswith('ch') else 's'}"
        )
    return f"{count} {many}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`.  Args: last: word before the last one."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))


# Whole numbers in text that somebody else wrote.

_WHOLE = re.compile("[0-9]{1,18}")  # below 2**63


def whole_number(text: str) -> int | None:
    """`17` -> 17; None for what is none, such as a superscript two, or has more digits than a number of ours."""
    return int(text) if _WHOLE.fullmatch(text) else None


def side_values(value: str) -> tuple[str, str]:
    """Sender's and receiver's value of a parameter that may have two."""
    sender, colon, receiver = value.partition(":")
    return (sender, receiver) if colon else (sender, sender)
