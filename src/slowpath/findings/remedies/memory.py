# SPDX-License-Identifier: Apache-2.0
"""Remedies that a program carries out: how it allocates, which memory it takes, which windows and datatypes."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.findings.remedies.remedy import Control, Parameters, Remedy, set_to
from slowpath.mpi.code_variables import KEEP_FREED

HUGE_PAGE_BYTES = 2 * 2**20
_LATER = Control(
    "padding changes the first use alone: later messages from the same buffer can't change", phase="steady"
)
_SHORT = Control(
    "an 8-byte message lies on one page, huge or small",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)
_TOUCHED = Control(
    "round trips of 8 bytes repeat in one page, which is there after the first of them, whoever wrote it first",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)


def _padded(parameters: Parameters) -> Mapping[str, str] | None:
    """The allocation lengthened to a multiple of 2 MiB, on both sides alike."""
    length, extra = parameters.get("buffer_bytes", "message"), parameters.get("overalloc_bytes", "0")
    base = parameters.get("message_bytes", "") if length == "message" else length
    if (
        "overalloc_bytes" not in parameters
        or not (base.isdecimal() and extra.isdecimal())
        or (int(base) + int(extra)) % HUGE_PAGE_BYTES == 0
    ):
        return None
    whole = -(-(int(base) + int(extra)) // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    return {**parameters, "overalloc_bytes": str(whole - int(base))}


def _packed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of messages in blocks alone: packing what is contiguous copies it for nothing."""
    blocks = parameters.get("datatype", "contiguous") != "contiguous"
    return set_to("pack", "mpi_pack")(parameters) if blocks else None


def _fewer_buffers(parameters: Parameters) -> Mapping[str, str] | None:
    live = parameters.get("live_buffers", "1")
    return {**parameters, "live_buffers": "1"} if live.isdecimal() and int(live) > 1 else None


REMEDIES = (
    Remedy(
        "touch buffers first",
        "Write every page of a buffer once before its first message, on the core that uses it: memset does, or "
        "MAP_POPULATE; calloc of a long buffer does not.",
        ("SP012",),
        ("touch",),
        _TOUCHED,
        ("the faults take their time at start-up", "memory is taken from then on, whether it is used or not"),
        ("mmap(2), MAP_POPULATE", "set_mempolicy(2)"),
        parameter="touch",
        change=set_to("touch", "write"),
        code=(
            "void* buffer = malloc(length);\n"
            "memset(buffer, 0, length);  /* by the thread that will send or receive; calloc writes nothing */\n"
            "/* or: mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0); */"
        ),
        phrase="buffers of which every page is written before the first message",
    ),
    Remedy(
        "reuse touched buffers",
        "Keep buffers and use them again: free gives long ones back to the system, and the next malloc is untouched.",
        ("SP012",),
        ("touch",),
        side_effects=("memory stays taken",),
        sources=("mallopt(3), M_MMAP_THRESHOLD",),
        untried="later messages of the finding's own cells are from reused buffers; there is nothing else to toggle",
        code="static void* buffer;  /* allocated and written once, kept from call to call */",
        phrase="buffers that were used before",
    ),
    Remedy(
        "keep freed memory",
        "Where the program can't be changed, let glibc keep what is freed, with its pages.",
        ("SP012",),
        ("touch",),
        side_effects=("freed memory does not go back to the system", "fragmentation of a long-lived heap"),
        sources=("mallopt(3), M_MMAP_MAX and M_TRIM_THRESHOLD", "GNU C Library manual, Memory Allocation Tunables"),
        untried="the engine maps its buffers without malloc; set it for your program",
        code=f"export GLIBC_TUNABLES={KEEP_FREED}",
        phrase="GLIBC_TUNABLES that keep freed memory",
    ),
    Remedy(
        "huge pages",
        "Allocate communication buffers on 2 MiB boundaries and ask for huge pages.",
        ("SP008", "SP009", "SP012"),
        ("pages", "environment", "touch"),
        _SHORT,
        ("memory: each buffer takes whole pages of 2 MiB", "time to touch a buffer for the first time"),
        ("madvise(2), MADV_HUGEPAGE", "docs/reference/findings.md"),
        parameter="pages",
        change=set_to("pages", "huge"),
        code=(
            "size_t length = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);\n"
            "void* buffer = aligned_alloc(2u << 20, length);\n"
            "madvise(buffer, length, MADV_HUGEPAGE);"
        ),
    ),
    Remedy(
        "pad to 2 MiB",
        "Allocate communication buffers in multiples of 2 MiB.",
        ("SP001", "SP002", "SP023"),
        ("phase", "overalloc_bytes"),
        _LATER,
        ("memory: up to 2 MiB more for each allocation",),
        ("docs/studies/padding.md",),
        parameter="overalloc_bytes",
        change=_padded,
        code="size_t length = (bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);",
        phrase="allocations padded to a multiple of 2 MiB",
    ),
    Remedy(
        "libslowpath-pad.so",
        "Preload the padding library where the program can't be changed.",
        ("SP001", "SP002", "SP023"),
        ("phase", "overalloc_bytes"),
        side_effects=("memory: up to 2 MiB more for each allocation", "every allocation call passes through it"),
        sources=("docs/studies/padding.md",),
        untried="the engine pads by itself; preload the library into your program",
        code='LD_PRELOAD="$(slowpath engine path --pad)" mpiexec ...',
    ),
    Remedy(
        "fewer live buffers",
        "Use fewer communication buffers, and reuse them.",
        ("SP003",),
        ("live_buffers",),
        Control("the first message from a fresh buffer costs the same, however many buffers are live", phase="first"),
        ("the program has to wait for a buffer to be free",),
        ("docs/reference/ipc.md",),
        parameter="live_buffers",
        change=_fewer_buffers,
        code="static void* pool[8];  /* allocate once, use in turn */",
        phrase="fewer communication buffers, and each again",
    ),
    Remedy(
        "keep buffers",
        "Allocate communication buffers once, send one message from each before the work begins, and keep them.",
        ("SP001", "SP002", "SP005", "SP006", "SP024"),
        ("phase",),
        side_effects=("memory stays taken",),
        sources=("docs/reference/metrics.md",),
        untried="the finding compares with later messages from kept buffers already; there is nothing else to toggle",
        code="static void* buffer;  /* allocated once, before the first use that counts */",
        phrase="reused buffers",
    ),
    Remedy(
        "pageable host memory",
        "Use memory from malloc with huge pages for messages inside a node in place of pinned memory.",
        ("SP007",),
        ("memory", "environment"),
        _SHORT,
        ("copies between this memory and a GPU get slower",),
        ("docs/reference/gpu-memory.md",),
        parameter="memory",
        change=set_to("memory", "host"),
        code="void* buffer = aligned_alloc(2u << 20, length);  /* in place of cudaMallocHost */",
        phrase="memory from malloc on huge pages",
    ),
    Remedy(
        "memory from cudaMalloc",
        "Allocate GPU buffers that are sent with cudaMalloc and not from a pool.",
        ("SP023",),
        ("memory", "phase"),
        _LATER,
        ("allocation and release get slower",),
        ("docs/reference/gpu-memory.md",),
        parameter="memory",
        change=set_to("memory", "device"),
        code="cudaMalloc(&buffer, length);  /* in place of cudaMallocAsync */",
    ),
    Remedy(
        "contiguous data",
        "Pack blocks into a contiguous buffer with MPI_Pack or a loop before sending.",
        ("SP015",),
        ("datatype", "pack"),
        None,  # see uncontrolled
        ("memory of the packed copy",),
        ("MPI-4.1 section 5.2",),
        parameter="pack",
        change=_packed,
        code="MPI_Pack(data, count, type, packed, size, &at, comm);\nMPI_Send(packed, at, MPI_PACKED, ...);",
        uncontrolled="MPI_Pack copies contiguous messages, too, so every cell that can be packed gets one more copy",
        phrase="MPI_Pack or a loop before sending",
    ),
    Remedy(
        "post receives early",
        "Post receives before the messages can arrive.",
        ("SP020",),
        ("posted",),
        sources=("MPI-4.1 section 3.5",),
        code="MPI_Irecv(...);  /* before the sender can send */",
        untried="early receives end in MPI_Wait, late ones in MPI_Probe and MPI_Recv: unlike calls prove nothing",
        phrase="receives posted before the messages arrive",
    ),
    Remedy(
        "short queues",
        "Keep queues short: few posted receives and unexpected messages, matched in the order of their arrival.",
        ("SP021",),
        ("queue",),
        Control("searching past a single entry takes no measurable time", without="1"),
        (),
        ("MPI-4.1 section 3.5",),
        parameter="queue",
        change=set_to("queue", "0"),
    ),
    Remedy(
        "test while computing",
        "Call MPI_Test now and then while computing, so that the library makes progress.",
        ("SP017",),
        ("progress",),
        Control("the computation by itself calls no MPI", phase="steady", metric="compute_s"),
        ("each call takes time from the computation",),
        ("MPI-4.1 section 3.7.4",),
        parameter="progress",
        change=set_to("progress", "test"),
        code="MPI_Test(&request, &done, MPI_STATUS_IGNORE);  /* between pieces of work */",
        phrase="MPI_Test now and then while computing",
    ),
)
