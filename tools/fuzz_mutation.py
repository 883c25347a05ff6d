# SPDX-License-Identifier: Apache-2.0
"""Valid inputs, spoilt a little: the same ones for the same seed. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_TELLING = (
    b"0", b"-1", b"1", b"4294967295", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"1e308", b"nan",
    b"inf", b"-0.0", b"1_000", b"9" * 5000, "\u0663".encode(), b"true", b"null", b'""', b"[]", b"{}", b"=", b"..", b"+",
    b"*", b":", b",", b"#", b"\n", b"\r\n", b"\0", b"\xff", b"[[cells]]\n", b"SPB1", b"\xc2\xa0", b"0..999999999+1",
)  # fmt: skip


def mutated(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """One of `seeds` after 1 to 4 changes, each at a place by chance."""
    data = bytearray(seeds[chance.randrange(len(seeds))])
    for _ in range(chance.randint(1, 4)):
        chance.choice(_CHANGES)(data, seeds, chance)
    return bytes(data)


def _flip(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _leave_out(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.randint(1, 40)]


def _double(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = data[at : at + chance.randint(1, 200)]


def _cut(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _borrow(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    other = seeds[chance.randrange(len(seeds))]
    begin, at = chance.randrange(len(other) + 1), chance.randrange(len(data) + 1)
    data[at:at] = other[begin : begin + chance.randint(1, 200)]


def _say(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice(_TELLING)


def _number(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    """Another number in the place of one."""
    start = chance.randrange(len(data) + 1)
    found = _NUMBER.search(data, start) or _NUMBER.search(data)
    if found:
        data[found.start() : found.end()] = chance.choice(_TELLING)


def _line(data: bytearray, seeds: Sequence[bytes], chance: random.Random) -> None:
    """A line left out, doubled, or put elsewhere."""
    lines = data.split(b"\n")
    line = lines.pop(chance.randrange(len(lines)))
    for _ in range(chance.randrange(3)):
        lines.insert(chance.randrange(len(lines) + 1), line)
    data[:] = b"\n".join(lines)


_CHANGES = (_flip, _flip, _leave_out, _double, _cut, _borrow, _say, _number, _number, _line)
