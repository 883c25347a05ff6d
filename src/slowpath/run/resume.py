# SPDX-License-Identifier: Apache-2.0
"""What an earlier pass over a plan left to do. Deletes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes, write_atomically
from slowpath.core.known_secrets import KnownSecrets
from slowpath.core.limits import FILE_BYTES
from slowpath.core.plan import Launch, Plan
from slowpath.core.whole import whole_number
from slowpath.record.blocks import scan
from slowpath.record.folder import SUPERSEDED, LaunchInfo, launch_folders, read_launch_info
from slowpath.run.account import read_account
from slowpath.run.hide import hide_secrets
from slowpath.run.schedule import Schedule


def schedule_after(run: Path, plan: Plan) -> Schedule:
    """Schedule of `plan` that knows all launches in the folder.

    A launch that ended is taken as its launch.json states. A folder without launch.json was cut off in the middle, and
    one whose files don't bear it out was damaged since: both are marked and left, and the planned launch is run
    again, whole, under a new number.
    """
    schedule = Schedule(plan)
    for folder in launch_folders(run):
        number = int(folder.name)
        cells, planned = _reported(folder, plan, number)
        if planned is None:
            continue
        info = None if (folder / SUPERSEDED).exists() else _trusted(folder)
        if info is None:
            _mark(folder)
            schedule.superseded(planned, number)
        else:
            account = read_account(folder / "events.jsonl")
            schedule.ended(planned, number, cells, info.ended, info.reason, account)
    return schedule


def _trusted(folder: Path) -> LaunchInfo | None:
    """launch.json of a launch whose record bears it out; None: run it again.

    slowpath brings events and samples to the disk before it writes launch.json, so that a loss here is damage that came
    later. A launch that ended by itself has nothing torn; one that was ended may have a torn tail, of a cell that
    never ended.
    """
    try:
        info = read_launch_info(folder)
    except RecordError:
        return None
    if info is None:
        return None
    account = read_account(folder / "events.jsonl")
    if info.ended == "ok" and not account.complete:
        return None
    good = {cell for cell, end in account.ended.items() if end.status == "ok"}
    if not good:
        return info
    try:
        blocks = scan(folder / "samples.blk")
    except RecordError:
        return None
    torn = info.ended == "ok" and bool(blocks.notes)
    return None if torn or not good <= {int(cell) for cell in blocks.headers["cell"]} else info


def _reported(folder: Path, plan: Plan, number: int) -> tuple[tuple[int, ...], Launch | None]:
    """Cells in this launch's plan.txt and the planned launch that it serves.

    Follow-up launches have the seed of the launch that they continue, and no two planned launches share one.
    """
    by_seed = {launch.seed: launch for launch in plan.launches}
    by_number = {launch.launch: launch for launch in plan.launches}
    path = folder / "plan.txt"
    try:
        words = [line.split() for line in read_bytes(path, FILE_BYTES["plan.txt"], within=folder).decode().splitlines()]
    except (RecordError, UnicodeDecodeError):
        return (), by_number.get(number)
    seeds = [seed for line in words if line[:1] == ["seed"] and len(line) == 2 for seed in (whole_number(line[1]),)]
    cells = [cell for line in words if line[:1] == ["cell"] and len(line) > 2 for cell in (whole_number(line[1]),)]
    planned = by_seed.get(seeds[0]) if seeds and seeds[0] is not None else by_number.get(number)
    known = {cell.cell for cell in plan.cells}
    return tuple(cell for cell in cells if cell in known), planned


def _mark(folder: Path) -> None:
    text = (
        "This launch was cut off before its end was recorded, or its files were damaged since. It is not used; a later "
        "launch measures its cells.\n"
    )
    if not (folder / SUPERSEDED).exists():
        write_atomically(folder / SUPERSEDED, text)
        hide_secrets(folder, KnownSecrets(os.environ), found=True)  # it was not done when the launch was cut off
