# SPDX-License-Identifier: Apache-2.0
"""The readers that take what others wrote, and what must hold for whatever they are given."""

from __future__ import annotations

import json
import random
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fuzz_documents
from fuzz_mutation import mutated, with_hostile

from slowpath.analyse.results_file import read_results
from slowpath.core.errors import SlowpathError
from slowpath.core.plan import Plan
from slowpath.diagnose.records import read_diagnosis
from slowpath.plan.campaign import decode
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse
from slowpath.record.blocks import read, scan
from slowpath.record.events import read_events
from slowpath.record.folder import read_launch_info, read_run
from slowpath.record.imports.choose import FORMATS, import_files
from slowpath.record.imports.log import parse_log
from slowpath.record.layout import layout
from slowpath.record.plan_files import read_plan, write_plan
from slowpath.record.witness import CONTROL_VARIABLES, read_variables
from slowpath.record.writing import Block, Witness, encode
from slowpath.studies.counting.read import process_count

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests"
LONGEST_SEED_BYTES = 3000  # short inputs are many inputs
LONGEST_CAMPAIGN_BYTES = 1500  # each of them becomes a plan
IMPORT_EVERY = 256  # whole imports, which write files, are slower than the readers by far


class Defect(Exception):
    """A reader took what it must not take, or read it wrongly."""


@dataclass(frozen=True)
class Target:
    """One reader.

    seeds: valid inputs.  make: one input from them.  read: gives it to the reader, in a folder of its own, and checks
    what it says. Raises SlowpathError: refused, as it should. Anything else is a defect.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], None]
    make: Callable[[Sequence[bytes], random.Random], bytes] = mutated


def _campaigns() -> list[bytes]:
    shipped = [path.read_bytes() for path in sorted((ROOT / "campaigns").glob("*.toml"))]
    return [text for text in shipped if len(text) <= LONGEST_CAMPAIGN_BYTES]


def _description() -> dict[str, Any]:
    if "description" not in _kept:
        _kept["description"] = json.loads((ROOT / "schema" / "engine.json").read_text())
    description: dict[str, Any] = _kept["description"]
    return description


_kept: dict[str, Any] = {}


def _plan(content: bytes) -> Plan:
    in_use = [MpiInUse("mpich", "mpich 5.0", lambda setting: ({"X": "0"}, None))]
    return expand(decode(content, "fuzz.toml"), _description(), in_use, 1, rounds=1)


def _read_campaign(content: bytes, folder: Path) -> None:
    plan = _plan(content)
    if not plan.cells or len({cell.cell for cell in plan.cells}) != len(plan.cells):
        raise Defect("a plan without cells, or with two of one number")


def _texts(*names: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        paths = [path for name in names for path in sorted(DATA.glob(name))]
        texts = [path.read_bytes() for path in paths]
        return [text[:LONGEST_SEED_BYTES].rpartition(b"\n")[0] + b"\n" for text in texts]

    return seeds


def _import(content: bytes, folder: Path) -> None:
    """Now and then the whole way into a run folder, which must then hold what was read."""
    if zlib.crc32(content) % IMPORT_EVERY:
        return
    log, run = folder / "log.txt", folder / "imported"
    log.write_bytes(content)
    shutil.rmtree(run, ignore_errors=True)
    import_files([log], run)
    samples = run / "launches" / "000001" / "samples.blk"
    if samples.stat().st_size and scan(samples).notes:  # empty where each row was skipped with its reason
        raise Defect("an import that is damaged")
    read_plan(run / "plan.json")


def _read_log(content: bytes, folder: Path) -> None:
    log = parse_log(folder / "log.txt", content)
    text = content.decode()
    for section in log.sections:
        for time in section.times:
            if time.ns < 0 or time.text not in text:
                raise Defect(f"a time of {time.ns} ns that does not stand in the log")
    _import(content, folder)


def _read_table(name: str) -> Callable[[bytes, Path], None]:
    one = next(one for one in FORMATS if one.name == name)

    def read_it(content: bytes, folder: Path) -> None:
        text = content.decode("utf-8", errors="replace")
        if not one.recognises(text):
            return
        found = one.parse(folder / "log.txt", content, text, None)
        for table in found.tables:
            for row in table.rows:
                sample = table.sample(row)
                if sample is not None and (sample[0] < 1 or sample[1] < 1):
                    raise Defect(f"a sample of {sample}")
        if any(table.rows for table in found.tables):
            _import(content, folder)

    return read_it


def _blocks() -> list[bytes]:
    witness = Witness(1, 0, 10, 20, 3, 4)
    one = encode(Block(3, 42, "steady", [10, 20, 30], witness=witness, batch=4))
    two = encode(Block(1, 42, "first", [5], start_ns=[0], rank=1, t0_ns=1000))
    none = encode(Block(2, 42, "warmup", []))
    return [one + two + none, one * 3, two]


def _block_input(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """Also headers with a field changed and sealed again, as a hostile or broken writer would leave them."""
    if chance.random() < 0.7:
        return mutated(seeds, chance)
    data = bytearray(chance.choice(seeds))
    size = layout().header.itemsize
    at, length = chance.randrange(4, size - 12), chance.choice((1, 2, 4, 8))
    value = chance.choice((0, 1, 2**7, 2**15, 2**31, 2**60, 2**63, 2**64 - 1)) % 256**length
    data[at : at + length] = value.to_bytes(length, "little")
    data[size - 4 : size] = zlib.crc32(data[: size - 4]).to_bytes(4, "little")
    return bytes(data[: chance.randrange(size, len(data) + 1)])


def _read_blocks(content: bytes, folder: Path) -> None:
    """Each block that is taken stands in the file byte for byte, under checksums that fit."""
    path = folder / "samples.blk"
    path.write_bytes(content)
    index = scan(path)
    for i in range(len(index)):
        samples = read(index, i)
        payload = samples.duration_ns.tobytes() + (b"" if samples.start_ns is None else samples.start_ns.tobytes())
        head = index.headers[i]
        if len(payload) // 8 != int(head["n"]) * (1 if samples.start_ns is None else 2):
            raise Defect("a block of another length than it says")
        if zlib.crc32(payload) != int(head["payload_crc"]) or head.tobytes() + payload not in content:
            raise Defect("a block that does not stand in the file")


def _events() -> list[bytes]:
    nodes = [{"host": "a", "ranks": "0-1", "pid": [4, 5], "cpus_allowed": ["0", "1"], "clock": {"max_gap_ns": [7, 9]}}]
    lines = [
        {"event": "launch_begin", "t_ns": 1, "launch": 1, "size": 2, "ranks": [{"rank": 0, "host": "a"}]},
        {"event": "launch_begin", "t_ns": 1, "launch": 1, "size": 2, "nodes": nodes},
        {"event": "cell_begin", "t_ns": 2, "cell": 3},
        {"event": "allocation", "t_ns": 3, "cell": 3, "rank": 0, "index": 0, "memory": "host", "base": 4096},
        {"event": "note", "t_ns": 4, "text": "clock source \u00e9", "blas": {"name": "x"}},
        {"event": "cell_end", "t_ns": 5, "cell": 3, "status": "ok", "steady_samples": 40},
        {"event": "launch_end", "t_ns": 6, "cells_ok": 1, "cells_skipped": 0, "cells_failed": 0},
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in lines)]


def _read_events(content: bytes, folder: Path) -> None:
    path = folder / "events.jsonl"
    path.write_bytes(content)
    found = read_events(path)
    if len(found.events) + len(found.notes) != sum(bool(line.strip()) for line in content.split(b"\n")):
        raise Defect("a line that was neither read nor noted")
    if found.open_cell is not None and found.open_cell in found.cell_ends:
        raise Defect("a cell that ended and did not")


def _plans() -> list[bytes]:
    path = Path(_kept["folder"]) / "plan.json"
    shortest = min(_campaigns(), key=len)
    write_plan(path, _plan(shortest))
    return [path.read_bytes()]


def _read_plan(content: bytes, folder: Path) -> None:
    path = folder / "plan.json"
    path.write_bytes(content)
    read_plan(path)


def _file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], None]:
    """A reader of a file of this name; `read` gets its folder."""

    def read_it(content: bytes, folder: Path) -> None:
        (folder / name).write_bytes(content)
        read(folder)

    return read_it


def _of(make: Callable[[Path], list[bytes]]) -> Callable[[], list[bytes]]:
    """Seeds that are made in a folder."""
    return lambda: make(Path(_kept["folder"]))


def _read_results(folder: Path) -> None:
    read_results(folder / "results.json")


def _read_counts(content: bytes, folder: Path) -> None:
    process_count(folder / "n-7.jsonl", content, lambda places: dict.fromkeys(places, ("m.so", "f")))


def _read_variables(folder: Path) -> None:
    """Never refused: why there are none is part of the results."""
    found, why = read_variables(folder / CONTROL_VARIABLES)
    if (found is None) == (why is None):
        raise Defect("variables and a reason why there are none, or neither")


def _read_launch(content: bytes, folder: Path) -> None:
    own = folder / "launches" / "000001"
    own.mkdir(parents=True, exist_ok=True)
    (own / "launch.json").write_bytes(content)
    read_launch_info(own)


TARGETS: tuple[Target, ...] = (
    Target("campaign", _campaigns, _read_campaign),
    Target("log of the reproducers", _texts("data/field/*.txt"), _read_log),
    Target("table of OSU", _texts("unit/imports/data/osu-*.txt"), _read_table("OSU")),
    Target("table of IMB", _texts("unit/imports/data/imb.txt"), _read_table("IMB")),
    Target("table of nccl-tests", _texts("unit/imports/data/nccl-*.txt"), _read_table("nccl-tests")),
    Target("samples.blk", _blocks, _read_blocks, _block_input),
    Target("events.jsonl", _events, _read_events, with_hostile),
    Target("plan.json", _plans, _read_plan, with_hostile),
    Target("launch.json", _of(fuzz_documents.launches), _read_launch, with_hostile),
    Target("run.json", _of(fuzz_documents.runs), _file("run.json", read_run), with_hostile),
    Target("results.json", fuzz_documents.results, _file("results.json", _read_results), with_hostile),
    Target("diagnosis.json", fuzz_documents.diagnoses, _file("diagnosis.json", read_diagnosis), with_hostile),
    Target("variables of a library", fuzz_documents.variables, _file(CONTROL_VARIABLES, _read_variables), with_hostile),
    Target("counted instructions", fuzz_documents.counts, _read_counts, with_hostile),
)


def refused(target: Target, content: bytes, folder: Path) -> bool:
    """Whether the reader refused the input as it should.  Raises: what is a defect."""
    try:
        target.read(content, folder)
    except SlowpathError:
        return True
    return False


def seeds_of(target: Target, folder: Path) -> list[bytes]:
    """Valid inputs; made in `folder` where they must be files first."""
    _kept["folder"] = str(folder)
    return target.seeds()
