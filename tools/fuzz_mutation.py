# SPDX-License-Identifier: Apache-2.0
"""Valid inputs, spoilt a little: the same ones for the same seed. Pure."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_TELLING = (
    b"0", b"-1", b"1", b"4294967295", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"1e308", b"nan",
    b"inf", b"-0.0", b"1_000", b"9" * 5000, "\u0663".encode(), b"true", b"null", b'""', b"[]", b"{}", b"=", b"..", b"+",
    b"*", b":", b",", b"#", b"\n", b"\r\n", b"\0", b"\xff", b"[[cells]]\n", b"SPB1", b"\xc2\xa0", b"0..999999999+1",
)  # fmt: skip


DEEP = "@deep@"  # is put into the text of a document: no encoder nests that far
NESTED = "[" * 100_000 + "]" * 100_000
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e-308, 1e308, -1e308, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    10**30, "", "x", "0", "-1", "1e9", "nan", "\u00b2", "\u0663", "9" * 5000, "a" * 5000, "a" * 300_000, "../../etc",
    "/etc/passwd", "..", "/", "a/b", "a\0b", "\x1b[2J\x1b]52;c;AAAA\x07", "\x9b2J", "\u202eabc", "a\r\nb",
    '=HYPERLINK("http://x")', "@SUM(1)", "![i](http://x/y.png)", "<script>alert(1)</script>", "</script>", "| x |",
    "$(touch pwned)", "{0}", "%s", "0-999999999", "first", "steady", "default", "p2p", "s", "slower", [], {}, [[]],
    [None], {"": None}, [0] * 3000, {"x": {"y": []}}, DEEP,
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


def with_hostile(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """For documents of JSON, one a line or one in all: as `mutated`, or with values that an attacker would take."""
    if chance.random() < 0.5:
        return mutated(seeds, chance)
    lines = seeds[chance.randrange(len(seeds))].decode().strip("\n").split("\n")
    if len(lines) > 1 and lines[0] in ("{", "["):
        lines = ["\n".join(lines)]
    at = chance.randrange(len(lines))
    lines[at], _ = edited(lines[at], chance)
    return "\n".join(lines).encode(errors="surrogatepass") + b"\n"


def edited(text: str, chance: random.Random) -> tuple[str, str]:
    """A JSON document with one value changed, and what was done.  Raises: ValueError, RecursionError: it is none."""
    document = json.loads(text)
    what = _edit(document, chance)
    return json.dumps(document).replace(f'"{DEEP}"', NESTED), what


def _edit(document: Any, chance: random.Random) -> str:
    places = list(_places(document))
    if not places:
        return "nothing"
    holder, key = chance.choice(places)
    kind = chance.random()
    if kind < 0.7:
        holder[key] = chance.choice(HOSTILE)
        return f"{key} is {str(holder[key])[:40]!r}"
    if kind < 0.8:
        del holder[key]
        return f"{key} is gone"
    if kind < 0.9:
        other, from_key = chance.choice(places)
        holder[key] = json.loads(json.dumps(other[from_key] if _has(other, from_key) else None))
        return f"{key} is what {from_key} was"
    if isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(holder[key])))
        return f"{key} is doubled"
    name = chance.choice([str(one) for one in HOSTILE if isinstance(one, str) and one != DEEP])
    holder[name] = holder.pop(key)
    return f"{key} is called {name[:40]!r}"


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """(holder, key) of each value."""
    stack = [document]
    while stack:
        one = stack.pop()
        items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, value in items:
            yield one, key
            stack.append(value)
