#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""halo.cpp with mpi4py and NumPy, or CuPy for GPU memory: the same switches, the same checksum.

Blocks, windows and notes are as in halo.cpp. `--memory device` keeps the tile and its buffers on the GPU, one process a
GPU where there are enough; `--memory pinned` has the buffers in pinned host memory and copies through them.
"""

from __future__ import annotations

import argparse
import mmap
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

NORTH, SOUTH, WEST, EAST = SIDES = range(4)
HUGE_PAGE_BYTES = 2 << 20
NOTE_TAG = 9


def arguments() -> argparse.Namespace:
    """The command line; README.md says what each switch plants."""
    parser = argparse.ArgumentParser(prog="halo.py", allow_abbrev=False)
    pair = "{0}x{0}".format
    parser.add_argument("--size", default="256x256", metavar=pair("N"), help="rows and columns of a rank's tile")
    parser.add_argument("--grid", default="0x0", metavar=pair("N"), help="ranks down and over")
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--work", type=int, default=1, help="sweeps of the stencil between two exchanges")
    parser.add_argument("--pages", choices=("small", "huge"), default="huge", help="of host buffers")
    parser.add_argument("--blocks", choices=("8", "packed"), default="packed", help="8: columns by MPI_Type_vector")
    parser.add_argument("--window", choices=("none", "once", "each"), default="none")
    parser.add_argument("--late", default="-1:0", metavar="RANK:SECONDS", help="this rank sleeps before each exchange")
    parser.add_argument("--notes", type=int, default=0, help="small messages in each iteration, receives posted first")
    parser.add_argument("--flood", type=int, default=0, help="the same, receives posted when they have long come")
    parser.add_argument("--note-bytes", type=int, default=1024)
    parser.add_argument("--memory", choices=("host", "device", "pinned"), default="host")
    parser.add_argument("--pinned", action="store_const", const="pinned", dest="memory", help="--memory pinned")
    parser.add_argument("--odd", action="store_true", help="allocations of no whole number of pages")
    parser.add_argument("--fresh", action="store_true", help="new buffers for each exchange")
    options = parser.parse_args()
    options.rows, options.columns = map(int, options.size.split("x"))
    options.late_rank, options.late_s = int(options.late.split(":")[0]), float(options.late.split(":")[1])
    return options


class HostMemory:
    """Buffers from mmap, on the pages that were asked for."""

    arrays: Any = np

    def __init__(self, options: argparse.Namespace) -> None:
        self.advice = mmap.MADV_HUGEPAGE if options.pages == "huge" else mmap.MADV_NOHUGEPAGE
        self.extra = 8 if options.odd else 0

    def buffer(self, cells: int) -> Any:
        """Uninitialised cells from a huge page's start on, in a mapping of their own."""
        whole = -(-cells * 8 // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
        mapping = mmap.mmap(-1, whole + HUGE_PAGE_BYTES + self.extra)
        mapping.madvise(self.advice)
        address = np.frombuffer(mapping, dtype=np.uint8).__array_interface__["data"][0]
        return np.frombuffer(mapping, dtype=np.float64, count=cells, offset=-address % HUGE_PAGE_BYTES)

    def ready(self) -> None:
        """Nothing is under way."""


class DeviceMemory:
    """Buffers of the GPU, from cudaMalloc without a pool: lengths are the ones asked for. Or pinned host memory."""

    def __init__(self, options: argparse.Namespace) -> None:
        import cupy

        cupy.cuda.Device(MPI.COMM_WORLD.rank % cupy.cuda.runtime.getDeviceCount()).use()
        self.arrays, self.cupy = cupy, cupy
        self.pinned = options.memory == "pinned"
        self.odd = options.odd

    def buffer(self, cells: int) -> Any:
        """Uninitialised cells in an allocation of their own: of whole 2 MiB, or 8 bytes longer than the cells."""
        bytes_ = cells * 8 + 8 if self.odd else -(-cells * 8 // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
        if self.pinned:
            return np.frombuffer(
                self.cupy.cuda.PinnedMemoryPointer(self.cupy.cuda.PinnedMemory(bytes_), 0), "f8", cells
            )
        memory = self.cupy.cuda.Memory(bytes_)
        return self.cupy.ndarray(cells, dtype="f8", memptr=self.cupy.cuda.MemoryPointer(memory, 0))

    def ready(self) -> None:
        """MPI may read what was written."""
        self.cupy.cuda.get_current_stream().synchronize()


class Tile:
    """A rank's part of the domain, one ghost cell around."""

    def __init__(self, options: argparse.Namespace, place: list[int], arrays: Any) -> None:
        rows, columns = options.rows, options.columns
        row = place[0] * rows + np.arange(rows, dtype=np.int64)[:, None]
        column = place[1] * columns + np.arange(columns, dtype=np.int64)
        self.turn = (1 + (31 * row + column) % 63).astype(np.uint64)
        self.cells = arrays.ones((rows + 2, columns + 2))  # the domain's rim stays so
        self.cells[1:-1, 1:-1] = arrays.asarray(((7919 * row + 104729 * column) % 1000003) / 1000.0)

    def sweep(self) -> None:
        """One Jacobi step, in the order of additions of the other languages."""
        u = self.cells
        self.cells[1:-1, 1:-1] = 0.2 * ((u[:-2, 1:-1] + u[2:, 1:-1]) + (u[1:-1, :-2] + u[1:-1, 2:]) + u[1:-1, 1:-1])

    def edge(self, side: int, ghost: bool) -> Any:
        """The row or column that a side sends, or receives."""
        first, last = (0, -1) if ghost else (1, -2)
        at = first if side in (NORTH, WEST) else last
        return self.cells[at, 1:-1] if side in (NORTH, SOUTH) else self.cells[1:-1, at]

    def checksum(self) -> int:
        """XOR of all cells' bits, each turned by its place."""
        inner = self.cells[1:-1, 1:-1]
        host = np.ascontiguousarray(inner if isinstance(inner, np.ndarray) else inner.get())
        bits = host.view(np.uint64)
        return int(np.bitwise_xor.reduce(bits << self.turn | bits >> (np.uint64(64) - self.turn), axis=None))


class Exchange:
    """The four sides of a tile, to and from its neighbours."""

    def __init__(self, options: argparse.Namespace, tile: Tile, grid: MPI.Cartcomm, memory: Any) -> None:
        self.options, self.tile, self.grid, self.memory = options, tile, grid, memory
        self.neighbours = [*grid.Shift(0, 1), *grid.Shift(1, 1)]
        self.sides = [side for side in SIDES if self.neighbours[side] != MPI.PROC_NULL]
        self.packed = [side for side in self.sides if side in (NORTH, SOUTH) or options.blocks == "packed"]
        self.column = MPI.DOUBLE.Create_vector(options.rows, 1, options.columns + 2).Commit()
        self.windows: list[MPI.Win] = []
        if not options.fresh:
            self.make_buffers()
        if options.window == "once":
            self.make_windows()

    def make_buffers(self) -> None:
        """A pair of buffers for each side that is packed."""
        cells = {side: self.options.columns if side in (NORTH, SOUTH) else self.options.rows for side in self.packed}
        self.outbox = {side: self.memory.buffer(cells[side]) for side in self.packed}
        self.inbox = {side: self.memory.buffer(cells[side]) for side in self.packed}

    def __call__(self) -> None:
        """One exchange."""
        if self.options.fresh:
            self.make_buffers()
        for side in self.packed:
            self.move(self.tile.edge(side, ghost=False), self.outbox[side])
        self.memory.ready()
        if self.options.window == "none":
            self.send_and_receive()
        else:
            self.put()
        for side in self.packed:
            self.move(self.inbox[side], self.tile.edge(side, ghost=True))

    def move(self, source: Any, to: Any) -> None:
        """Copy between the tile and a buffer; each may be the GPU's."""
        if isinstance(to, np.ndarray) and not isinstance(source, np.ndarray):
            source.get(out=to)
        elif isinstance(source, np.ndarray) and not isinstance(to, np.ndarray):
            to[:] = self.memory.arrays.asarray(source)
        else:
            to[:] = source

    def send_and_receive(self) -> None:
        """All sides at once, without blocking."""
        requests = [self.grid.Irecv(self.message(side, True), self.neighbours[side], side) for side in self.sides]
        requests += [self.grid.Isend(self.message(side, False), self.neighbours[side], side ^ 1) for side in self.sides]
        MPI.Request.Waitall(requests)

    def message(self, side: int, ghost: bool) -> list[Any]:
        """What MPI is given for a side: a buffer, or the column of the tile itself."""
        if side in self.packed:
            return [(self.inbox if ghost else self.outbox)[side], MPI.DOUBLE]
        columns = self.options.columns
        first = columns + 2 + ((0 if ghost else 1) if side == WEST else (columns + 1 if ghost else columns))
        return [self.tile.cells.reshape(-1)[first:], 1, self.column]

    def make_windows(self) -> None:
        """One window a side; where there is no neighbour it is empty."""
        inboxes = [self.inbox.get(side) for side in SIDES]
        self.windows = [MPI.Win.Create(MPI.BOTTOM if box is None else box, 8, comm=self.grid) for box in inboxes]

    def put(self) -> None:
        """All sides by MPI_Put between two fences."""
        if self.options.window == "each":
            self.make_windows()
        for window in self.windows:
            window.Fence(MPI.MODE_NOPRECEDE)
        for side in self.sides:
            self.windows[side ^ 1].Put([self.outbox[side], MPI.DOUBLE], self.neighbours[side])
        for window in self.windows:
            window.Fence(MPI.MODE_NOSUCCEED)
        if self.options.window == "each":
            self.free()

    def free(self) -> None:
        """Free the windows."""
        for window in self.windows:
            window.Free()
        self.windows = []


class Notes:
    """Small messages to the next rank of a ring: see halo.cpp."""

    def __init__(self, options: argparse.Namespace, grid: MPI.Cartcomm) -> None:
        self.count, self.is_flood, self.grid = options.notes or options.flood, options.flood > 0, grid
        self.next, self.previous = (grid.rank + 1) % grid.size, (grid.rank - 1) % grid.size
        self.out = np.full((self.count, options.note_bytes), grid.rank + 1, dtype=np.uint8)
        self.inbox = np.empty_like(self.out)
        self.sum = 0
        self.receives = [] if self.is_flood else self.post()

    def post(self) -> list[MPI.Request]:
        """Receives for one iteration's notes."""
        return [self.grid.Irecv(note, self.previous, NOTE_TAG) for note in self.inbox]

    def send(self) -> None:
        """One iteration's notes."""
        self.sends = [self.grid.Isend(note, self.next, NOTE_TAG) for note in self.out]

    def receive(self, is_last: bool) -> None:
        """Take one iteration's notes; without a flood, receives for the next iteration are posted here."""
        MPI.Request.Waitall(self.post() if self.is_flood else self.receives)
        self.sum += int(self.inbox[:, 0].sum(dtype=np.int64)) if self.count else 0
        self.receives = [] if self.is_flood or is_last else self.post()
        MPI.Request.Waitall(self.sends)


def main() -> int:
    """The loop, its time and the checksum."""
    options = arguments()
    world = MPI.COMM_WORLD
    down, over = map(int, options.grid.split("x"))
    shape = [down, over] if down * over else MPI.Compute_dims(world.size, 2)
    if shape[0] * shape[1] != world.size:
        if world.rank == 0:
            print("halo: --grid takes as many ranks as there are", file=sys.stderr)
        return 2
    grid = world.Create_cart(shape, periods=[False, False])
    memory = HostMemory(options) if options.memory == "host" else DeviceMemory(options)
    tile = Tile(options, grid.Get_coords(grid.rank), memory.arrays)
    exchange, notes = Exchange(options, tile, grid, memory), Notes(options, grid)
    memory.ready()
    grid.Barrier()
    start_s = MPI.Wtime()
    for iteration in range(options.iterations):
        notes.send()
        for _ in range(options.work):
            tile.sweep()
        if grid.rank == options.late_rank:
            memory.ready()
            time.sleep(options.late_s)
        notes.receive(iteration + 1 == options.iterations)
        exchange()
    memory.ready()
    loop_s = grid.allreduce(MPI.Wtime() - start_s, MPI.MAX)
    bits = grid.allreduce(tile.checksum() ^ (notes.sum << (grid.rank % 8)), MPI.BXOR)
    exchange.free()
    exchange.column.Free()
    if grid.rank == 0:
        print(
            f"halo: {grid.size} ranks {shape[0]} x {shape[1]}, tiles of {options.rows} x {options.columns}, "
            f"{options.iterations} iterations\nchecksum {bits:016X}\nloop {loop_s:.6f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
