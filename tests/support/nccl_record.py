# SPDX-License-Identifier: Apache-2.0
"""Records of NCCL calls with planted times, as libslowpath-nccl.so writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from slowpath.watch.nccl.record import COMMUNICATOR, HEADER, MAGIC, ROW, SAMPLE, VERSION

US, MS, S = 1_000, 1_000_000, 1_000_000_000
HEADER_BYTES = 4096
KEY = ("function", "datatype", "algorithm", "protocol", "channels", "count", "communicator", "group_calls")


@dataclass
class NcclProcess:
    """One process. interface, timer: as the header has them; pid names the file."""

    pid: int
    interface: int = 5
    timer: int = 2
    host: str = "node1"
    span_ns: int = 10 * S
    is_closed: bool = True
    sampled_below: int = 2**64 - 1
    communicators: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)
    samples: list[tuple[int, ...]] = field(default_factory=list)
    lost_rows: int = 0

    def communicator(self, rank: int, ranks: int, identity: int = 77) -> int:
        """Its number."""
        self.communicators.append(
            {"id": identity, "rank": rank, "ranks": ranks, "nodes": 1, "calls": 0, "busy_ns": 0, "numbers": [0, 0]}
        )
        return len(self.communicators) - 1

    def call(
        self,
        communicator: int,
        function: str,
        count: int,
        at_ns: int,
        took_ns: int,
        *,
        datatype: str = "ncclFloat32",
        launch_ns: int = 20 * US,
        peer: int = -1,
        group_calls: int = 1,
        way: tuple[str, str, int] = ("RING", "SIMPLE", 4),
    ) -> None:
        """A call whose kernel ran from at_ns on for took_ns; 0: its kernel was not timed."""
        own = self.communicators[communicator]
        key = (function, datatype, *way, count, communicator, group_calls)
        row = self.rows.setdefault(key, {"number": len(self.rows), "calls": 0, "host": [], "gpu": []})
        row["calls"] += 1
        if row["calls"] == 1:
            row |= {"first_start_ns": at_ns - launch_ns, "first_host_ns": launch_ns, "first_gpu_ns": took_ns}
        else:
            row["host"].append(launch_ns)
            row["gpu"] += [took_ns] if took_ns else []
        own["calls"] += 1
        own["busy_ns"] += took_ns
        own["numbers"][peer >= 0] += 1
        number = own["numbers"][peer >= 0]
        gpu = (at_ns, at_ns + took_ns) if took_ns else (0, 0)
        self.samples.append((number, at_ns - launch_ns, at_ns, *gpu, at_ns + took_ns, row["number"], peer, 0))

    def write(self, folder: Path) -> Path:
        """Into folder/ranks."""
        ranks = folder / "ranks"
        ranks.mkdir(parents=True, exist_ok=True)
        parts = {"communicators": self._communicators(), "rows": self._rows(), "samples": self._samples()}
        header = np.zeros(1, HEADER)
        header["magic"], header["version"], header["interface_version"] = MAGIC, VERSION, self.interface
        header["timer"], header["pid"], header["host"] = self.timer, self.pid, self.host
        header["program"], header["is_closed"] = b"/usr/bin/train", self.is_closed
        header["start_monotonic_ns"], header["end_monotonic_ns"] = S, S + self.span_ns
        header["sampled_below"], header["lost_rows"] = self.sampled_below, self.lost_rows
        content, at = b"", HEADER_BYTES
        for name, elements in parts.items():
            header[name] = (at, elements.dtype.itemsize, elements.size)
            content += elements.tobytes()
            at += elements.nbytes
        path = ranks / f"{self.host}-{self.pid}.nccl"
        path.write_bytes(header.tobytes().ljust(HEADER_BYTES, b"\0") + content)
        return path

    def _communicators(self) -> Any:
        found = np.zeros(len(self.communicators), COMMUNICATOR)
        for element, own in zip(found, self.communicators, strict=True):
            for name in ("id", "rank", "ranks", "nodes", "calls", "busy_ns"):
                element[name] = own[name]
        return found

    def _rows(self) -> Any:
        found = np.zeros(len(self.rows), ROW)
        for element, (key, row) in zip(found, self.rows.items(), strict=True):
            names = (
                "function",
                "datatype",
                "algorithm",
                "protocol",
                "channels",
                "count",
                "communicator",
                "group_calls",
            )
            for name, value in zip(names, key, strict=True):
                element[name] = value
            for name in ("calls", "first_start_ns", "first_host_ns", "first_gpu_ns"):
                element[name] = row[name]
            for name in ("host", "gpu"):
                values = row[name]
                element[f"{name}_calls"], element[f"{name}_ns"] = len(values), sum(values)
        return found

    def _samples(self) -> Any:
        return np.array(self.samples, SAMPLE) if self.samples else np.zeros(0, SAMPLE)


def late_job(rounds: int = 200, late: int = 1, ranks: int = 2, late_ns: int = 2 * MS) -> list[NcclProcess]:
    """AllReduces of 64 MiB that take 1 ms; each time `late` comes `late_ns` after the others, and the first of all
    takes 400 ms to launch.
    """
    processes = [NcclProcess(100 + rank) for rank in range(ranks)]
    for rank, process in enumerate(processes):
        number = process.communicator(rank, ranks)
        for i in range(rounds + 1):
            at_ns = S + i * 10 * MS
            waits_ns = 0 if rank == late else late_ns
            launch_ns = 400 * MS if i == 0 else 20 * US
            process.call(number, "AllReduce", 16 * 2**20, at_ns - waits_ns, waits_ns + 1 * MS, launch_ns=launch_ns)
    return processes
