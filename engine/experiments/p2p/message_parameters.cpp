// SPDX-License-Identifier: Apache-2.0
// Parameters of p2p that say what a message is.
#include "p2p/parameter_tables.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

using enum ParameterType;
using enum ParameterRole;

std::vector<Parameter> message_parameters() {
    return {
        {
            .name = "pattern",
            .type = choice,
            .role = setting,
            .default_value = "ping_pong",
            .choices = {"one_way", "ping_pong", "windowed", "overlap", "polling"},
            .meaning = "one_way: single messages from fresh memory; ping_pong: round trips; windowed: many "
                       "messages in flight; overlap: messages both ways while both sides compute; polling: "
                       "rank 0 asks for a message that was not sent",
        },
        {
            .name = "memory",
            .type = choice,
            .role = setting,
            .default_value = "host",
            .choices = {"host", "mpi", "pinned_host", "pinned_registered", "device", "device_pool",
                        "device_vmm", "managed"},
            .sided = true,
            .meaning =
                "who allocates: mmap, MPI_Alloc_mem, cuMemHostAlloc, mmap and cuMemHostRegister, cuMemAlloc, "
                "cuMemAllocAsync, cuMemCreate and cuMemMap, cuMemAllocManaged; or what HIP has for it",
        },
        {
            .name = "pages",
            .type = choice,
            .role = setting,
            .default_value = "default",
            .choices = {"default", "small", "huge", "shared"},
            .sided = true,
            .meaning = "host memory only: as the system gives, MADV_NOHUGEPAGE, MADV_HUGEPAGE on a 2 MiB "
                       "boundary, MAP_SHARED; pinned_registered takes all but shared",
        },
        {
            .name = "device",
            .type = count,
            .role = setting,
            .default_value = "auto",
            .minimum = "0",
            .maximum = "65535",
            .choices = {"auto"},
            .sided = true,
            .meaning =
                "GPU memory only: ordinal of the device; auto: the ranks of a node take its devices in turn",
        },
        {
            .name = "message_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "8",
            .minimum = "0",
            .maximum = any_length,
            .meaning = "length of each message",
        },
        {
            .name = "datatype",
            .type = choice,
            .role = setting,
            .default_value = "contiguous",
            .choices = {"contiguous", "vector", "indexed", "indexed_uneven"},
            .sided = true,
            .meaning = "how a message lies in memory: in one piece, or in blocks with gaps as long between, "
                       "described by MPI_Type_vector or MPI_Type_indexed; indexed_uneven: with gaps of three "
                       "blocks' length and of one by turns",
        },
        {
            .name = "blocks",
            .type = count,
            .role = covariate,
            .unit = "blocks",
            .default_value = "1",
            .minimum = "1",
            .maximum = "1073741823",
            .meaning = "all datatypes but contiguous: blocks of a message",
        },
        {
            .name = "block_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "auto",
            .minimum = "1",
            .maximum = any_length,
            .choices = {"auto"},
            .meaning = "all datatypes but contiguous: length of a block, in place of blocks; auto: "
                       "message_bytes / blocks",
        },
        {
            .name = "pack",
            .type = choice,
            .role = setting,
            .default_value = "none",
            .choices = choices_of(pack_words),
            .meaning =
                "one_way, ping_pong: who gathers the blocks: the library as it sends, or the program, with "
                "MPI_Pack before MPI_Send and MPI_Unpack after MPI_Recv, or with a loop before and after "
                "them, all of it in the timed region; a side in one piece packs nothing where the other has "
                "blocks, and with a loop never",
        },
        {
            .name = "buffer_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "message",
            .minimum = "0",
            .maximum = any_length,
            .choices = {"message"},
            .sided = true,
            .meaning = "length of the buffer before over-allocation; message: what the messages need (for "
                       "the receiver of windowed in_flight messages, each rounded up to 64 bytes)",
        },
        {
            .name = "overalloc_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "0",
            .minimum = "0",
            .maximum = any_length,
            .sided = true,
            .meaning = "added to the buffer's length when it is allocated",
        },
        {
            .name = "offset_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "0",
            .minimum = "0",
            .maximum = any_length,
            .sided = true,
            .meaning =
                "where in the allocation the message begins: host memory begins on a page, and that of "
                "pages=huge on 2 MiB; overalloc_bytes makes room",
        },
        {
            .name = "other_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "none",
            .minimum = "0",
            .maximum = any_length,
            .choices = {"none"},
            .meaning =
                "one_way: after each message one of this length from the same buffer, timed apart: what "
                "message_bytes messages cost between others; none: all are alike",
        },
        {
            .name = "allocations",
            .type = count,
            .role = effort,
            .unit = "allocations",
            .default_value = "1",
            .minimum = "1",
            .maximum = "1000000",
            .meaning = "fresh allocations, one after the other, the previous one freed first; with "
                       "live_buffers, as many sets",
        },
        {
            .name = "live_buffers",
            .type = count,
            .role = covariate,
            .unit = "buffers",
            .default_value = "1",
            .minimum = "1",
            .maximum = "65536",
            .meaning = "buffers of a set, all fresh and alive at once: each has a first message of its own, "
                       "and the later operations go through them in turn",
        },
        {
            .name = "order",
            .type = choice,
            .role = setting,
            .default_value = "forward",
            .choices = choices_of(order_words),
            .meaning =
                "in which order the live buffers are used, in each turn the same: as they were allocated, "
                "the last one first, or shuffled by the launch's seed, on both sides alike",
        },
    };
}

}  // namespace slowpath::p2p
