# SPDX-License-Identifier: Apache-2.0
"""What the library is told of each measured message, through the profiling interface (MPI-4.1 section 15.2)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ranks import Ranks

TAG = 77  # of measured messages; those in front of them have larger ones, and control messages small ones
COLUMNS = ("call", "tag", "count", "address", "bytes", "extent", "packed")  # bytes, extent: of an element
SHIM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static void note(const char* call, int tag, int n, const void* data, MPI_Datatype type) {
    static FILE* file;
    int rank, bytes;
    MPI_Aint lower, extent;
    if (tag < 77) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Type_size(type, &bytes);
    PMPI_Type_get_extent(type, &lower, &extent);
    if (!file) { char path[4096]; snprintf(path, sizeof path, "%s-%d", getenv("SHIM_OUT"), rank); file = fopen(path, "w"); }
    fprintf(file, "%s %d %d %lld %d %ld %d\\n", call, tag, n, (long long)data, bytes, (long)extent, type == MPI_PACKED);
    fflush(file);
}
int MPI_Send(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    note("send", tag, n, data, type);
    return PMPI_Send(data, n, type, to, tag, comm);
}
int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    note("receive", tag, n, data, type);
    return PMPI_Recv(data, n, type, from, tag, comm, status);
}
int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    note("start", tag, n, data, type);
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
    note("post", tag, n, data, type);
    return PMPI_Irecv(data, n, type, from, tag, comm, request);
}
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
    note("iprobe", tag, 0, NULL, MPI_BYTE);
    return PMPI_Iprobe(from, tag, comm, found, status);
}
int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    note("mprobe", tag, 0, NULL, MPI_BYTE);
    return PMPI_Mprobe(from, tag, comm, message, status);
}
int MPI_Mrecv(void* data, int n, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    note("matched", 77, n, data, type);
    return PMPI_Mrecv(data, n, type, message, status);
}
int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
    note("probe", tag, 0, NULL, MPI_BYTE);
    return PMPI_Probe(from, tag, comm, status);
}
"""  # noqa: E501


def shim(ranks: Ranks, blankless: Path, folder: Path) -> dict[str, str]:
    """Variables with which ranks write told-RANK in that folder."""
    source = Path(tempfile.mkdtemp(dir=blankless)) / "shim.c"
    source.write_text(SHIM)
    return {"LD_PRELOAD": str(ranks.compiled(source)), "SHIM_OUT": str(folder / "told")}


def told(folder: Path, rank: int, *columns: str) -> list[tuple[str, ...]]:
    """These columns of each call."""
    lines = [line.split() for line in (folder / f"told-{rank}").read_text().splitlines()]
    return [tuple(line[COLUMNS.index(name)] for name in columns) for line in lines]
