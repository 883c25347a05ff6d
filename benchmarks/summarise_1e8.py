# SPDX-License-Identifier: Apache-2.0
"""How long, and with how much memory, 10^8 samples are checked and summarised.

Writes a samples.blk of 10 000 blocks x 10 000 samples (800 MB) into a temporary folder, then scans, verifies
and summarises it in a fresh process, so that the peak memory is that of the reader alone. Fails when it
exceeds the budget of docs/internals/record.md.

    python benchmarks/summarise_1e8.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from slowpath.record.blocks import Block, write_blocks

BLOCKS, SAMPLES, REPEATS = 10_000, 10_000, 3
WALL_BUDGET_S = 3.0
PEAK_BUDGET_BYTES = 300_000_000

_READER = """
import json, resource, sys, time
begin = time.perf_counter()
from slowpath.record.blocks import scan
from slowpath.analyse.summary import summarise
imported = time.perf_counter()
index = scan(sys.argv[1])
scanned = time.perf_counter()
summaries = summarise(index)
end = time.perf_counter()
print(json.dumps({
    "import_s": imported - begin, "scan_and_verify_s": scanned - imported, "summarise_s": end - scanned,
    "wall_s": end - begin, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "groups": len(summaries), "samples": sum(s.count for s in summaries), "notes": list(index.notes),
}))
"""


def blocks(count: int, samples: int) -> Iterator[Block]:
    """Log-normal times with a sparse slow tail; a hundred distinct noise columns are enough to keep a sort
    honest.
    """
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0.0, 0.06, (100, samples)))
    noise[rng.random(noise.shape) < 0.003] *= 20.0
    for i in range(count):
        scale = 1500.0 * 2.0 ** ((i % 24) * 0.75)
        times = np.rint(scale * np.roll(noise[i % 100], i)).astype(np.int64)
        yield Block(cell=i % 1000, launch=i // 1000, phase="steady", duration_ns=times)


def main() -> int:
    within = False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.blk"
        write_blocks(path, blocks(BLOCKS, SAMPLES))
        print(f"{path.stat().st_size / 1e6:.0f} MB, {BLOCKS} blocks x {SAMPLES} samples")
        for _ in range(REPEATS):
            done = subprocess.run([sys.executable, "-c", _READER, str(path)], check=True, capture_output=True)
            found = json.loads(done.stdout)
            if found["notes"] or found["samples"] != BLOCKS * SAMPLES:
                print(f"wrong result: {found}")
                return 1
            print(
                f"wall {found['wall_s']:.2f} s (import {found['import_s']:.2f}, scan and verify "
                f"{found['scan_and_verify_s']:.2f}, summarise {found['summarise_s']:.2f}), "
                f"peak {found['peak_bytes'] / 1e6:.0f} MB, {found['groups']} groups"
            )
            within |= found["wall_s"] <= WALL_BUDGET_S and found["peak_bytes"] <= PEAK_BUDGET_BYTES
    print(f"budget {WALL_BUDGET_S:g} s and {PEAK_BUDGET_BYTES / 1e6:.0f} MB: {'kept' if within else 'EXCEEDED'}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
