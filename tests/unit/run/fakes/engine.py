#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine that measures nothing and does to each cell what its parameter `behave` says.

behave: ok, skip, wrong (wrong bytes), crash, once (crash, but not in the next launch), hang, error (exit 4), orphan
(leaves a process behind, then hangs), starved (skipped for want of memory, but not in the next launch), slow, crawl
(goes on and on), wait (until the run folder has a file `go`).
The variables FAKE_INIT=fail|hang and FAKE_JUNK=1 act before any cell.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

plan = Path(sys.argv[sys.argv.index("--plan") + 1])
out = Path(sys.argv[sys.argv.index("--out") + 1])


def hang() -> None:
    """Tell it to the tests, for whose watchdog time passes from now on."""
    (out / "hangs").touch()
    time.sleep(1000)


if os.environ.get("FAKE_INIT") == "fail":
    sys.exit("Fatal error in internal_Init: no network")
if os.environ.get("FAKE_INIT") == "hang":
    hang()
if os.environ.get("FAKE_JUNK"):
    # Flushed: a crash loses what is still in a buffer, here as in a library of C.
    print("\x00\xff junk \x1b[31m" * 100, flush=True)
events = (out / "events.jsonl").open("a", buffering=1)


def tell(event: str, **fields: object) -> None:
    events.write(json.dumps({"event": event, "t_ns": time.monotonic_ns(), **fields}) + "\n")


def block(cell: int, rank: int) -> bytes:
    """One steady block of two samples (schema/block.json)."""
    payload = struct.pack("<2q", 1000, 1001)
    head = struct.pack("<4sHHIIIBBHIIQqQ6qiiQ", b"SPB1", 128, 1, cell, 0, rank, 3, 1, 0, 1, 0, 2, *[0] * 8, -1, -1, 0)
    head += struct.pack("<I", zlib.crc32(payload))
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def end(cell: int, status: str = "ok", reason: "str | None" = None) -> None:
    with (out / "samples.blk").open("ab") as samples:
        samples.write(block(cell, 0) + block(cell, 1))
    tell("cell_end", cell=cell, status=status, reason=reason)


tell("launch_begin", launch=0, seed=0, size=2)
code = 0
for line in plan.read_text().splitlines():
    words = line.split()
    if words[0] != "cell":
        continue
    cell = int(words[1])
    behave = dict(word.split("=", 1) for word in words[3:]).get("behave", "ok")
    tell("cell_begin", cell=cell)
    if behave == "crash":
        print("about to crash", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if behave in ("once", "starved"):
        seen = out.parent / f"crashed-{cell}"
        if seen.exists():
            seen.unlink()
        else:
            seen.touch()
            if behave == "starved":
                end(cell, "skipped", "mmap: Cannot allocate memory (64 bytes)")
                continue
            os.kill(os.getpid(), signal.SIGSEGV)
    if behave == "error":
        print("slowpath-engine: error: MPI_Send: no route (rank 0 of 2 on here, x.cpp:1)", file=sys.stderr)
        sys.exit(4)
    if behave == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
    if behave in ("hang", "orphan"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        hang()
    while behave == "crawl":
        (out / "hangs").touch()  # time passes for the watchdog, and it sees that something is done
        tell("progress", cell=cell)
        time.sleep(0.01)
    if behave == "slow":
        time.sleep(0.4)
    while behave == "wait" and not (out.parents[1] / "go").exists():
        time.sleep(0.02)
    if behave == "wrong":
        end(cell, "failed", "3 wrong bytes, the first at 17")
        code = 1
    elif behave == "skip":
        end(cell, "skipped", "no such memory here")
    else:
        end(cell)
tell("launch_end", cells_ok=0, cells_skipped=0, cells_failed=0)
sys.exit(code)
