# SPDX-License-Identifier: Apache-2.0
"""Readers of runs: campaigns, logs of other programs, and the files of a run folder; and what must hold for each."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import fuzz_documents
from fuzz_target import Defect, Target, of_file

from slowpath.analyse.results_file import read_results
from slowpath.core.plan import Plan
from slowpath.diagnose.records import read_diagnosis
from slowpath.plan.campaign import decode
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse
from slowpath.record.blocks import read, scan
from slowpath.record.events import MOST_NOTES, read_events
from slowpath.record.folder import read_launch_info, read_run
from slowpath.record.imports.choose import FORMATS, import_files
from slowpath.record.imports.log import parse_log
from slowpath.record.imports.printed import read_printed
from slowpath.record.layout import layout
from slowpath.record.owner import latest
from slowpath.record.plan_files import read_plan, write_plan
from slowpath.record.witness import CONTROL_VARIABLES, read_variables
from slowpath.record.writing import Block, Witness, encode
from slowpath.studies.counting.show import read_earlier

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests"
LONGEST_SEED_BYTES = 3000  # short inputs are many inputs
LONGEST_CAMPAIGN_BYTES = 1500  # each of them becomes a plan
IMPORT_EVERY = 256  # whole imports, which write files, are far slower than the readers


def _campaigns(folder: Path) -> list[bytes]:
    shipped = [path.read_bytes() for path in sorted((ROOT / "campaigns").glob("*.toml"))]
    return [text for text in shipped if len(text) <= LONGEST_CAMPAIGN_BYTES]


@lru_cache(maxsize=1)
def _description() -> Any:
    return json.loads((ROOT / "schema" / "engine.json").read_text())


def _plan(content: bytes) -> Plan:
    in_use = [MpiInUse("mpich", "mpich 5.0", lambda setting: ({"X": "0"}, None))]
    return expand(decode(content, "fuzz.toml"), _description(), in_use, 1, rounds=1)


def _read_campaign(content: bytes, folder: Path) -> None:
    plan = _plan(content)
    if not plan.cells or len({cell.cell for cell in plan.cells}) != len(plan.cells):
        raise Defect("a plan without cells, or with two of one number")


def _texts(pattern: str) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        texts = [path.read_bytes() for path in sorted(DATA.glob(pattern))]
        return [text[:LONGEST_SEED_BYTES].rpartition(b"\n")[0] + b"\n" for text in texts]

    return seeds


def _import(content: bytes, folder: Path) -> None:
    """For a few inputs, the whole import: the run folder must hold what was read."""
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
    read_printed(run / "launches" / "000001")


def _read_log(content: bytes, folder: Path) -> None:
    log = parse_log(folder / "log.txt", content)
    text = content.decode()
    for section in log.sections:
        for time in section.times:
            if time.ns < 0 or time.text not in text:
                raise Defect(f"a time of {time.ns} ns that is not in the log")
    _import(content, folder)


def _read_table(name: str) -> Callable[[bytes, Path], None]:
    found = next(one for one in FORMATS if one.name == name)

    def read_it(content: bytes, folder: Path) -> None:
        text = content.decode("utf-8", errors="replace")
        if not found.recognises(text):
            return
        log = found.parse(folder / "log.txt", content, text, None)
        for table in log.tables:
            for row in table.rows:
                sample = table.sample(row)
                if sample is not None and (sample[0] < 1 or sample[1] < 1):
                    raise Defect(f"a sample of {sample}")
        if any(table.rows for table in log.tables):
            _import(content, folder)

    return read_it


def _blocks(folder: Path) -> list[bytes]:
    witness = Witness(1, 0, 10, 20, 3, 4)
    steady = encode(Block(3, 42, "steady", [10, 20, 30], witness=witness, batch=4))
    first = encode(Block(1, 42, "first", [5], start_ns=[0], rank=1, t0_ns=1000))
    empty = encode(Block(2, 42, "warmup", []))
    return [steady + first + empty, steady * 3, first]


def _sealed(content: bytes) -> bytes:
    """With right checksums in the first header, as a hostile writer would leave it."""
    size = layout().header.itemsize
    if len(content) < size:
        return content
    payload = zlib.crc32(content[size:])
    head = content[: size - 8] + payload.to_bytes(4, "little")
    return head + zlib.crc32(head).to_bytes(4, "little") + content[size:]


def _read_blocks(content: bytes, folder: Path) -> None:
    """Each block that is accepted is in the file byte for byte, under checksums that fit."""
    path = folder / "samples.blk"
    path.write_bytes(content)
    index = scan(path)
    for i in range(len(index)):
        samples = read(index, i)
        payload = samples.duration_ns.tobytes() + (b"" if samples.start_ns is None else samples.start_ns.tobytes())
        head = index.headers[i]
        if len(payload) // 8 != int(head["n"]) * (1 if samples.start_ns is None else 2):
            raise Defect("a block of the wrong length")
        if zlib.crc32(payload) != int(head["payload_crc"]) or head.tobytes() + payload not in content:
            raise Defect("a block that is not in the file")


def _read_samples(content: bytes, folder: Path) -> None:
    _read_blocks(_sealed(content), folder)
    _read_blocks(content, folder)


def _read_events(content: bytes, folder: Path) -> None:
    path = folder / "events.jsonl"
    path.write_bytes(content)
    found = read_events(path)
    is_cut = len(found.notes) > MOST_NOTES
    if not is_cut and len(found.events) + len(found.notes) != sum(bool(line.strip()) for line in content.split(b"\n")):
        raise Defect("a line that was neither read nor noted")
    if found.open_cell is not None and found.open_cell in found.cell_ends:
        raise Defect("a cell that ended and did not")


def _plans(folder: Path) -> list[bytes]:
    write_plan(folder / "plan.json", _plan(min(_campaigns(folder), key=len)))
    return [(folder / "plan.json").read_bytes()]


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


def _read_owner(content: bytes, folder: Path) -> None:
    (folder / "owner").mkdir(exist_ok=True)
    (folder / "owner" / "000001.json").write_bytes(content)
    held = latest(folder)
    if held is None or (held.owner is None) == (held.why is None):
        raise Defect("an owner and a reason why there is none, or neither")


RUN_TARGETS = (
    Target("campaign", _campaigns, _read_campaign),
    Target("log-reproducers", _texts("data/field/*.txt"), _read_log),
    Target("log-osu", _texts("unit/imports/data/osu-*.txt"), _read_table("OSU")),
    Target("log-imb", _texts("unit/imports/data/imb.txt"), _read_table("IMB")),
    Target("log-nccl", _texts("unit/imports/data/nccl-*.txt"), _read_table("nccl-tests")),
    Target("samples", _blocks, _read_samples),
    Target("events", fuzz_documents.events, _read_events, is_json=True),
    Target("plan", _plans, of_file("plan.json", lambda folder: read_plan(folder / "plan.json")), is_json=True),
    Target("launch", fuzz_documents.launches, _read_launch, is_json=True),
    Target("run", fuzz_documents.runs, of_file("run.json", read_run), is_json=True),
    Target(
        "results",
        fuzz_documents.results,
        of_file("results.json", lambda folder: read_results(folder / "results.json")),
        is_json=True,
    ),
    Target("diagnosis", fuzz_documents.diagnoses, of_file("diagnosis.json", read_diagnosis), is_json=True),
    Target("variables", fuzz_documents.variables, of_file(CONTROL_VARIABLES, _read_variables), is_json=True),
    Target(
        "counts",
        fuzz_documents.counts,
        of_file("counts.json", lambda folder: read_earlier(folder / "counts.json", "MPI_Put")),
        is_json=True,
    ),
    Target("printed", fuzz_documents.printed, of_file("printed.json", read_printed), is_json=True),
    Target("owner", fuzz_documents.owners, _read_owner, is_json=True),
)
