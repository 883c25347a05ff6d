// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/batch.hpp"
#include "experiment/context.hpp"
#include "mpi/together.hpp"
#include "p2p/message.hpp"
#include "p2p/parameters.hpp"
#include "p2p/payload.hpp"
#include "record/block.hpp"
#include "record/witness.hpp"

namespace slowpath::p2p {

// Who sends to whom.

struct Roles {
    std::optional<Side> side;  ///< nullopt: this rank waits
    int peer = -1;
    std::vector<int> ranks;  ///< all that take part; the first one decides

    bool sends() const { return side == Side::sender; }
    bool receives() const { return side == Side::receiver; }
};

/// Sender and receiver of patterns of one pair.
std::array<int, 2> ends_of(const Config& config, int size);

/// windowed: rank i of the first `pairs` and rank i + pairs; all others: rank 0, and the last rank or `peer`,
/// the other way round with direction=reverse.
/// @param size Enough ranks: 2, peer + 1, or 2 * pairs.
Roles roles_of(const Config& config, int rank, int size);

// This rank's end of a cell: its role, its fresh memory, the checks of its payload, its blocks.

/// Tag of every measured message.
inline constexpr int message_tag = 77;

/// A buffer's place in the order in which operations use the buffers: forever one after the other, so that a
/// timed loop goes on by one load and tests nothing.
struct LiveBuffer {
    std::byte* forth = nullptr;  ///< where messages from the sender stand
    std::byte* back = nullptr;   ///< where those from the receiver stand; null in patterns of one direction
    const LiveBuffer* next = nullptr;
};

class Endpoint {
  public:
    Endpoint(Context& context, const Config& config);

    Context& context() { return context_; }
    const Config& config() const { return config_; }
    const Roles& roles() const { return roles_; }
    const MessageEncoding& encoding() const { return encoding_; }
    /// Of every second message, where two lengths alternate.
    const MessageEncoding* other_encoding() const { return other_ ? &*other_ : nullptr; }
    /// Of the longer of the two.
    const MessageEncoding& longest_encoding() const;
    /// What the encoding of the messages needs in addition to their buffers.  @return Why it could not be
    /// had.
    std::optional<std::string> allocate_encoding();
    /// Where this end's messages of one direction stand in the chosen buffer.
    /// @param from The side that sends in this direction.
    std::byte* data(Side from = Side::sender) const { return held(from).buffer.data(); }
    /// Where the next operation of the timed ones finds its messages. All ranks perform the same operations,
    /// so both ends of a message are at the same buffer.
    const LiveBuffer* next_buffer() const { return next_buffer_; }
    void continue_from(const LiveBuffer* buffer) { next_buffer_ = buffer; }
    Samples& samples() { return samples_; }
    const mpi::Barrier& barrier() const { return barrier_; }

    /// Free the old set of buffers and allocate a new one, live_buffers a direction, if this rank takes part;
    /// the first one is chosen then.
    /// @return Why that failed; nothing is thrown, since all ranks must hear of it.
    std::optional<std::string> renew(std::int64_t set);
    /// Choose one of the live buffers: what follows is about it, and the next operation uses it.
    /// @param index 0 to live_buffers - 1.
    void choose(std::int64_t index);
    /// Numbers of the live buffers in the order of their use.
    const std::vector<std::size_t>& order() const { return order_; }
    /// One line "allocation" for events.jsonl for each direction of the chosen buffer.
    void record_allocations();

    /// Write what this end needs before the message `number` of the chosen buffer goes from `from` to the
    /// other side.
    void prepare(std::uint64_t number, Side from);
    /// Compare what arrived from `from` with the message `number`; nothing on the side that sent it.
    /// @param when For the reason, "after the first message".
    void compare(std::uint64_t number, Side from, const char* when);

    /// Open a block.  @param capacity Samples at most.
    void begin_block(std::int64_t capacity);
    /// Close it; a block without samples is dropped.
    void end_block(Phase phase, std::uint32_t batch, std::int64_t first_sample, bool with_starts);
    /// In place of end_block, on ranks that store no times: what they called counts all the same.
    /// @param operations Those of the block.
    void end_calls(Phase phase, std::int64_t operations);
    /// A block of other times taken between begin_block() and end_block(): a part of the operations
    /// (docs/internals/record.md). What the kernel did meanwhile stands in the block of part 0 alone.
    void add_part(Phase phase, std::uint32_t batch, std::int64_t first_sample, std::uint64_t part,
                  const Samples& samples, bool with_starts = false);
    /// The number of the first of the ranks that take part, on all of them.
    std::int64_t decide(std::int64_t mine) const;

    std::int64_t compared_bytes = 0;
    std::int64_t wrong_bytes = 0;
    std::optional<std::string> first_wrong;
    std::uint32_t batch = 0;  ///< decided on the first allocation, kept for the others; 0 before
    std::int64_t steady_samples = 0;
    bool cut_by_time = false;

  private:
    /// Fresh memory for the messages of one direction.
    struct Held {
        memory::Buffer buffer;
        bool reused_address;
    };
    /// By the side that sends.
    using Pair = std::array<std::optional<Held>, 2>;
    const Held& held(Side from) const { return *live_[chosen_][from == Side::sender ? 0 : 1]; }
    Held& held(Side from) { return *live_[chosen_][from == Side::sender ? 0 : 1]; }
    Held allocate();
    void close_ring();
    bool any_address_reused(Phase phase) const;
    BlockHeader block_header(Phase phase, std::uint32_t batch, std::int64_t first_sample) const;
    void record_allocation(Side from);
    std::uint64_t seed(std::uint64_t number, Side from) const;

    Context& context_;
    Config config_;
    Roles roles_;
    MessageEncoding encoding_;
    std::optional<MessageEncoding> other_;
    mpi::Barrier barrier_;
    Samples samples_;
    std::vector<Pair> live_;
    std::vector<LiveBuffer> ring_;    ///< of live_, by index
    std::vector<std::size_t> order_;  ///< indices into both
    const LiveBuffer* next_buffer_ = nullptr;
    std::size_t chosen_ = 0;
    std::int64_t allocation_ = 0;  ///< number of the chosen buffer, counted over all sets
    std::int64_t set_ = 0;
    std::int64_t block_begin_ns_ = 0;
    Witness block_witness_;
};

/// The fresh memory that one side asks for.
memory::Request request_for(const Context& context, const Config& config, Side side);

// Warm-up, batch size and steady state, alike for all patterns but one_way.

/// Performs `samples` samples of `batch` operations each, and adds their times to end.samples() on ranks that
/// store.
using RunSamples = std::function<void(std::int64_t samples, std::uint32_t batch)>;

/// The first operation, in a block of its own.
void run_first(Endpoint& endpoint, bool stores, const RunSamples& run);

struct WarmUp {
    std::int64_t operations = 0;
    double operation_ns = 0;  ///< on the rank that decides
    /// The same, undisturbed: a warm-up in a slow moment must not leave batches shorter than a clock can
    /// time.
    double undisturbed_ns = 0;
    double left_ns = 0;  ///< of the time asked for
};

/// What comes before the steady state; decides end.batch on the first set of buffers.
/// @return operations counts samples: what is kept one by one, and batches.
WarmUp run_warm_up(Endpoint& endpoint, bool stores, const RunSamples& run);

/// Everything after it.  The first of the ranks decides how long; its decisions travel between timed regions.
void run_rest(Endpoint& endpoint, bool stores, const RunSamples& run);

// Threads of a rank that communicate at once.

/// The calling thread and `threads` - 1 others, which wait between two runs.
class Crew {
  public:
    explicit Crew(int threads);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    int size() const { return static_cast<int>(others_.size()) + 1; }
    /// Call `act(number)` on all threads at once, number 0 on this one.
    /// @return The first code that is not 0.
    template <class Act>
    int run(Act&& act) {
        if (others_.empty()) return act(0);
        return run_all(std::ref(act));
    }

  private:
    int run_all(const std::function<int(int)>& act);
    void work(int number);

    std::vector<std::thread> others_;
    const std::function<int(int)>* act_ = nullptr;
    std::atomic<std::uint32_t> turn_{0};  ///< raised when act_ is there
    std::atomic<int> busy_{0};
    std::atomic<int> code_{0};
    bool over_ = false;
};

// Where one thread of a rank finds its windows of messages.

/// One thread's windows of one end.
struct Lane {
    const LiveBuffer* buffer;
    bool is_sender;  ///< what it sends stands in `forth`
    int peer;
    int tag;  ///< of its messages; that of its answers follows
    int in_flight;
    std::int64_t place_bytes;   ///< from the buffer's begin to its first message to receive
    std::int64_t stride_bytes;  ///< from there to the next one; 0: all in one place
    std::vector<MPI_Request> requests;

    int answer_tag() const { return tag + 1; }
    std::byte* out() const { return is_sender ? buffer->forth : buffer->back; }
    std::byte* in() const { return (is_sender ? buffer->back : buffer->forth) + place_bytes; }
};

// A message as the program's calls have it: started and completed apart, looked for before it is received,
// or received from whoever sends.

/// A transfer by such calls. What they are is asked while they run: as types, all of them for each pair of
/// lengths would be too many.
template <class Transfer>
struct Otherwise {
    Transfer transfer;
    Completion completion;
    Source source;

    int send(const std::byte* data, int to, int tag) const {
        if (!has_request()) return transfer.send(data, to, tag);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = transfer.start_send(data, to, tag, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }
    int receive(std::byte* data, int peer, int tag) const {
        const int from = source == Source::any ? MPI_ANY_SOURCE : peer;
        if (completion == Completion::blocking) return transfer.receive(data, from, tag);
        if (!has_request()) return receive_found(data, from, tag);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = transfer.start_receive(data, from, tag, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }

  private:
    bool has_request() const {
        return completion == Completion::wait || completion == Completion::waitall ||
               completion == Completion::test;
    }
    /// Look for the message first. By its source: MPI_ANY_SOURCE may match another message the second time,
    /// but in these cells no other rank sends any.
    int receive_found(std::byte* data, int from, int tag) const {
        MPI_Message message = MPI_MESSAGE_NULL;
        int code = MPI_SUCCESS;
        if (completion == Completion::probe) code = MPI_Probe(from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (completion == Completion::mprobe)
            code = MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        if (completion == Completion::iprobe)
            for (int found = 0; found == 0 && code == MPI_SUCCESS;)
                code = MPI_Iprobe(from, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        if (completion == Completion::improbe)
            for (int found = 0; found == 0 && code == MPI_SUCCESS;)
                code = MPI_Improbe(from, tag, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) [[unlikely]]
            return code;
        return message == MPI_MESSAGE_NULL ? transfer.receive(data, from, tag)
                                           : transfer.receive_matched(data, &message);
    }
    int complete(MPI_Request& request) const {
        if (completion == Completion::wait) return MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (completion == Completion::waitall) return MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
        int code = MPI_SUCCESS;
        for (int done = 0; done == 0 && code == MPI_SUCCESS;)
            code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        return code;
    }
};

}  // namespace slowpath::p2p
