// SPDX-License-Identifier: Apache-2.0
// Parameters of p2p that say how messages are exchanged.
#include "p2p/parameter_tables.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

using enum ParameterType;
using enum ParameterRole;

std::vector<Parameter> exchange_parameters() {
    return {
        {
            .name = "messages",
            .type = count,
            .role = effort,
            .unit = "messages",
            .default_value = "8",
            .minimum = "1",
            .maximum = "100000000",
            .meaning = "one_way: messages per buffer, the first included",
        },
        {
            .name = "synchronise",
            .type = choice,
            .role = setting,
            .default_value = "outside",
            .choices = {"outside", "inside"},
            .meaning =
                "one_way: barrier before the timed region, or MPI_Barrier in it as the reproducers have it",
        },
        {
            .name = "posted",
            .type = choice,
            .role = setting,
            .default_value = "together",
            .choices = {"together", "before", "after"},
            .meaning = "one_way: when the receive is posted: together with the send, before it, or after the "
                       "message has arrived; for the last two the receiver enters the library only when the "
                       "message is on its way; polling: which queue is not empty, that of posted receives or "
                       "that of unexpected messages",
        },
        {
            .name = "queue",
            .type = count,
            .role = covariate,
            .unit = "messages",
            .default_value = "0",
            .minimum = "0",
            .maximum = "4096",
            .meaning =
                "one_way, polling, posted=before or after: empty messages of other tags in front, in the "
                "queue "
                "of posted receives or of unexpected messages, that match nothing while the others are timed",
        },
        {
            .name = "completion",
            .type = choice,
            .role = setting,
            .default_value = "blocking",
            .choices = choices_of(completion_words),
            .meaning = "one_way: MPI_Send and MPI_Recv; or MPI_Isend and MPI_Irecv, each with its MPI_Wait, "
                       "MPI_Waitall of one request, or MPI_Test until it is complete; or MPI_Send, and "
                       "MPI_Probe and MPI_Recv, MPI_Iprobe until it is there and MPI_Recv, MPI_Mprobe and "
                       "MPI_Mrecv, MPI_Improbe until it is there and MPI_Mrecv",
        },
        {
            .name = "source",
            .type = choice,
            .role = setting,
            .default_value = "named",
            .choices = choices_of(source_words),
            .meaning = "one_way, polling: whom the receive or the poll names: the sender, or MPI_ANY_SOURCE",
        },
        {
            .name = "poll",
            .type = choice,
            .role = setting,
            .default_value = "iprobe",
            .choices = choices_of(poll_words),
            .meaning = "polling: MPI_Iprobe, MPI_Improbe, or MPI_Test or MPI_Testall of one receive that is "
                       "open; what it asks for is sent after the timed region",
        },
        {
            .name = "open_receive",
            .type = flag,
            .role = setting,
            .default_value = "off",
            .meaning =
                "one_way: the sender has a receive of its own open while it sends, as in an exchange: an "
                "empty one of another tag, which is matched after the last message",
        },
        {
            .name = "in_flight",
            .type = count,
            .role = covariate,
            .unit = "messages",
            .default_value = "64",
            .minimum = "1",
            .maximum = "65536",
            .meaning = "windowed: messages per window",
        },
        {
            .name = "places",
            .type = choice,
            .role = setting,
            .default_value = "apart",
            .choices = {"apart", "one"},
            .meaning = "windowed: where the messages of a window arrive: each in a place of its own in the "
                       "receiver's buffer, as MPI asks of pending receives, or all in one place, as osu_bw, "
                       "osu_bibw, osu_mbw_mr and IMB's Uniband have it",
        },
        {
            .name = "requests",
            .type = choice,
            .role = setting,
            .default_value = "fresh",
            .choices = choices_of(requests_words),
            .meaning = "windowed: MPI_Isend and MPI_Irecv; persistent requests, made before and started by "
                       "MPI_Startall; or one partitioned message (MPI-4.0) of as many partitions as messages "
                       "in flight, each marked by MPI_Pready",
        },
        {
            .name = "pairs",
            .type = count,
            .role = setting,
            .unit = "pairs",
            .default_value = "1",
            .minimum = "1",
            .maximum = "1000000",
            .meaning = "windowed: rank i sends to rank i + pairs; the others wait",
        },
        {
            .name = "threads",
            .type = count,
            .role = setting,
            .unit = "threads",
            .default_value = "1",
            .minimum = "1",
            .maximum = "1024",
            .meaning = "windowed: threads of each rank that send and receive at once, each its own windows; "
                       "2 or more need MPI_THREAD_MULTIPLE (SLOWPATH_THREAD_LEVEL=multiple)",
        },
        {
            .name = "peer",
            .type = count,
            .role = setting,
            .default_value = "last",
            .minimum = "1",
            .maximum = "1000000",
            .choices = {"last"},
            .meaning =
                "one_way, ping_pong, overlap: the rank that receives what rank 0 sends; polling: the other "
                "end; the others wait",
        },
        {
            .name = "direction",
            .type = choice,
            .role = setting,
            .default_value = "forward",
            .choices = {"forward", "reverse", "both"},
            .meaning =
                "one_way, ping_pong: rank 0 sends and the last rank or peer receives, or the other way "
                "round; the sender begins and is the one that times round trips; polling: rank 0 polls, or "
                "the other one; both: windowed, each end of a pair sends a window and receives one, with no "
                "answers",
        },
        {
            .name = "idle_s",
            .type = seconds,
            .role = covariate,
            .unit = "s",
            .default_value = "0",
            .minimum = "0",
            .maximum = "60",
            .meaning =
                "one_way: both ranks leave the library alone for this long between the barrier and each "
                "message",
        },
        {
            .name = "idle",
            .type = choice,
            .role = setting,
            .default_value = "spin",
            .choices = {"spin", "sleep"},
            .meaning =
                "how the ranks pass idle_s: reading the clock, so that their cores stay awake, or asleep "
                "up to the last 0.1 ms, which they spin so that both begin together",
        },
        {
            .name = "cache",
            .type = choice,
            .role = setting,
            .default_value = "as_is",
            .choices = choices_of(cache_words),
            .sided = true,
            .meaning =
                "one_way, host memory: what is done before each message, ahead of the barrier: nothing, "
                "its bytes are read, or thrown out of all caches",
        },
        {
            .name = "progress",
            .type = choice,
            .role = setting,
            .default_value = "none",
            .choices = {"none", "test"},
            .meaning = "overlap: what the program does for its messages while it computes: nothing, or "
                       "MPI_Testall between slices",
        },
        {
            .name = "samples",
            .type = count,
            .role = effort,
            .unit = "samples",
            .default_value = "200",
            .minimum = "1",
            .maximum = "100000000",
            .meaning = "steady samples (batches) at most, per set of live buffers",
        },
        {
            .name = "time_limit_s",
            .type = seconds,
            .role = effort,
            .unit = "s",
            .default_value = "0.1",
            .minimum = "0",
            .maximum = "86400",
            .meaning =
                "steady state ends after about this time even with fewer samples (at least 8 are taken)",
        },
        {
            .name = "warmup_s",
            .type = seconds,
            .role = effort,
            .unit = "s",
            .default_value = "0.01",
            .minimum = "0",
            .maximum = "86400",
            .meaning = "warm-up ends after about this time (at least 4 operations)",
        },
        {
            .name = "touch",
            .type = choice,
            .role = setting,
            .default_value = "write",
            .choices = memory::touch_words(),
            .sided = true,
            .meaning = "what is done to each page of host memory before the first message (without write, "
                       "validation covers only a message after the timed ones)",
        },
        {
            .name = "validate",
            .type = flag,
            .role = effort,
            .default_value = "on",
            .meaning = "fill before the first message, compare after it and after the last one, byte for "
                       "byte, then send one more message with new bytes; outside the timed region",
        },
    };
}

}  // namespace slowpath::p2p
