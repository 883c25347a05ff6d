# SPDX-License-Identifier: Apache-2.0
"""A valid folder, spoilt in one to four places: the same way for the same seed.

What an attacker would try stands next to what chance brings: links that lead out, FIFOs, sparse files of terabytes,
numbers without end, nesting, control characters, names that choose a path.
"""

from __future__ import annotations

import os
import random
import shutil
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from fuzz_values import NESTED, edited, spoilt

from slowpath.record.layout import layout

NAMES = (
    "\u00b2", "0", "1", "000000", "999999", "9" * 40, "-1", "a" * 250, "x\ny", "\x1b[2J", "..x", "results.json",
    "run.json", "diagnosis.json", "traces", os.fsdecode(b"\xff\xfe"), "plan.txt", "a.json", "b.jsonl", "ucx-x.log",
    "stacks",
)  # fmt: skip
SPARSE_BYTES = (10**6, 200 * 2**20, 24 * 2**30, 2**40)
Seeds = Sequence[Path]


def spoil(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> list[str]:
    """Changes `folder` where it stands.

    Args:    victim: a folder that links may lead to, and that nobody may change.  seeds: valid folders, to borrow from.
    Returns: what was done, one line each.
    """
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
        change = chance.choice(_CHANGES)
        what = change(folder, victim, seeds, chance)
        if what:
            done.append(f"{change.__name__.strip('_')}: {what}")
    return done


def _files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.stat().st_size < 10**7
    )


def _any_file(folder: Path, chance: random.Random, *suffixes: str) -> Path | None:
    """One file; kinds of files are as likely as each other, however many launches there are."""
    by_name: dict[str, list[Path]] = {}
    for path in _files(folder):
        if not suffixes or path.suffix in suffixes:
            by_name.setdefault(path.name, []).append(path)
    if not by_name:
        return None
    return chance.choice(by_name[chance.choice(sorted(by_name))])


def _bytes(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    path = _any_file(folder, chance)
    if path is None:
        return ""
    path.write_bytes(spoilt(path.read_bytes(), chance))
    return path.name


def _json(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    """A value of another type or size, a key less, an element more."""
    path = _any_file(folder, chance, ".json", ".jsonl")
    if path is None:
        return ""
    lines = (
        path.read_text(errors="replace").splitlines() if path.suffix == ".jsonl" else [path.read_text(errors="replace")]
    )
    at = chance.randrange(len(lines)) if lines else 0
    try:
        lines[at], what = edited(lines[at], chance)
    except (ValueError, IndexError, RecursionError):
        return ""
    path.write_text("\n".join(lines) + "\n")
    return f"{path.name}: {what}"


def _blocks(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    """A header with a field changed and sealed again, as a hostile writer would leave it."""
    path = _any_file(folder, chance, ".blk")
    if path is None:
        return ""
    known, data = layout().header, bytearray(path.read_bytes())
    heads = [i for i in range(0, len(data) - known.itemsize + 1) if data.startswith(layout().magic, i)]
    if not heads:
        return ""
    at, name = chance.choice(heads), chance.choice(list(known.names or ()))
    kind, offset = (known.fields or {})[name][:2]
    value = chance.choice((0, 1, 2, 3, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**60, 2**63 - 1, 2**63, 2**64 - 1))
    data[at + offset : at + offset + kind.itemsize] = (value % 256**kind.itemsize).to_bytes(kind.itemsize, "little")
    if name == "n" and chance.random() < 0.5:  # with a payload of zeros, sealed as well
        data[at + known.itemsize :] = bytes(8 * min(value, 10**6))
    body = bytes(data[at : at + known.itemsize - 4])
    data[at + known.itemsize - 4 : at + known.itemsize] = zlib.crc32(body).to_bytes(4, "little")
    path.write_bytes(data)
    return f"{name} is {value}"


def _samples(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    """Times that no clock tells, under a checksum that fits."""
    path = _any_file(folder, chance, ".blk")
    known = layout().header
    if path is None or path.stat().st_size < known.itemsize + 8:
        return ""
    data = bytearray(path.read_bytes())
    n_kind, n_at = (known.fields or {})["n"][:2]
    n = int.from_bytes(data[n_at : n_at + n_kind.itemsize], "little")
    end = known.itemsize + 8 * n
    if not 0 < n < 10**6 or end > len(data):
        return ""
    value = chance.choice((0, -1, 1, 2**62, -(2**63), 2**63 - 1)).to_bytes(8, "little", signed=True)
    data[known.itemsize : known.itemsize + 8] = value
    columns = (known.fields or {})["columns"]
    if data[columns[1]] == 1:
        payload = (known.fields or {})["payload_crc"][1]
        data[payload : payload + 4] = zlib.crc32(bytes(data[known.itemsize : end])).to_bytes(4, "little")
        data[known.itemsize - 4 : known.itemsize] = zlib.crc32(bytes(data[: known.itemsize - 4])).to_bytes(4, "little")
    path.write_bytes(data)
    return f"a time of {int.from_bytes(value, 'little', signed=True)} ns"


def _other_kind(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    """No regular file in the place of one."""
    path = _any_file(folder, chance)
    if path is None:
        return ""
    path.unlink()
    kind = chance.choice(("fifo", "folder", "empty", "sparse", "link", "gone", "gone"))
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(chance.choice(SPARSE_BYTES))
    elif kind == "link":
        targets = (
            victim / "file",
            victim,
            victim / "missing",
            Path("/dev/zero"),
            Path("/dev/tty"),
            Path("/etc/passwd"),
            path,
        )
        path.symlink_to(chance.choice(targets))
    return f"{path.name} is {kind}"


def _folder(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    """A folder less, more, or one that is a link."""
    there = sorted(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())
    kind = chance.choice(("more", "more", "many", "gone", "link", "borrowed"))
    place = chance.choice([folder, *there])
    if kind == "more":
        name = chance.choice(NAMES)
        with_file = chance.random() < 0.5
        if os.path.lexists(place / name) or len(os.fsencode(name)) > 255:
            return ""
        (place / name).mkdir()
        if with_file:
            (place / name / chance.choice(("run.json", "launch.json", "results.json"))).write_text(
                chance.choice(("{}", "[]", NESTED))
            )
    elif kind == "many":
        for number in range(300):
            (place / f"{number + 500:06d}").mkdir(exist_ok=True)
    elif not there:
        return ""
    else:
        place = chance.choice(there)
        shutil.rmtree(place)
        if kind == "link":
            place.symlink_to(chance.choice((victim, Path("/"), place.parent, Path("/proc/self"))))
        elif kind == "borrowed":
            place.symlink_to(chance.choice(list(seeds)))
    return f"{place.name}: {kind}"


def _link(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    """Where an output would go there is a link that leads out."""
    name = chance.choice(
        ("results.json", "report.html", "report.txt", "cells.csv", "traces", "contrasts.csv", "put-table.md")
    )
    path = folder / name
    if os.path.lexists(path):
        if path.is_dir() and not path.is_symlink():
            return ""
        path.unlink()
    path.symlink_to(victim if name == "traces" else victim / "file")
    return name


def _borrow(folder: Path, victim: Path, seeds: Seeds, chance: random.Random) -> str:
    """A file of another folder in the place of one of this one."""
    path, other = _any_file(folder, chance), _any_file(chance.choice(list(seeds)), chance)
    if path is None or other is None:
        return ""
    path.write_bytes(other.read_bytes())
    return f"{path.name} is {other.parent.name}/{other.name}"


Change = Callable[[Path, Path, Seeds, random.Random], str]
_CHANGES: tuple[Change, ...] = (
    _json, _json, _json, _json, _json, _json, _bytes, _bytes, _blocks, _samples, _other_kind, _other_kind, _folder,
    _link, _borrow,
)  # fmt: skip
