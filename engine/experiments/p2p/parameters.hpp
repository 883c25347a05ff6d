// SPDX-License-Identifier: Apache-2.0
/// The tables of p2p, and a cell's parameters as numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"
#include "memory/buffer.hpp"

namespace slowpath::p2p {

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

// Where the bytes of one message lie: in one piece, or in blocks of equal length with gaps between.

/// What stands where no message may write.
inline constexpr std::byte gap_value{0xA5};

struct Layout {
    std::int64_t message_bytes = 0;
    std::int64_t blocks = 1;  ///< blocks * block_bytes == message_bytes
    std::int64_t block_bytes = 0;
    std::int64_t stride_bytes = 0;  ///< from one block to the next; block_bytes where there are no gaps
    std::int64_t shift_bytes = 0;   ///< by which each second block lies further on, so that gaps are unequal

    /// One piece.
    static Layout piece(std::int64_t bytes) { return {bytes, 1, bytes, bytes, 0}; }
    bool contiguous() const { return stride_bytes == block_bytes; }
    /// From the first byte of the message to its last.
    std::int64_t extent_bytes() const { return blocks == 0 ? 0 : begin_of(blocks - 1) + block_bytes; }
    /// Of a block, counted from the first byte of the message.
    std::int64_t begin_of(std::int64_t block) const { return block * stride_bytes + block % 2 * shift_bytes; }
    /// What memory holds when the message `seed` lies in it, gaps included.
    /// @param to Bytes from `begin` on, counted from the first byte of the message; begin + to.size() is at
    /// most extent_bytes().  @param begin A multiple of 8.  @param inverted As in fill_pattern().
    void fill(std::span<std::byte> to, std::int64_t begin, std::uint64_t seed, bool inverted) const;

  private:
    /// Bytes of the message that lie before this place.
    std::int64_t bytes_before(std::int64_t place) const;
};

enum class Pattern { one_way, ping_pong, windowed, overlap, polling };
enum class Datatype { contiguous, vector, indexed, indexed_uneven };
/// Who gathers a message in blocks: the library as it sends, or the program, which sends what it packed.
enum class Pack { none, mpi_pack, loop };
/// When the receive is begun: at the same time as the send, before the message is sent, after it has arrived.
enum class Posted { together, before, after };

/// How a message is sent and received: MPI_Send and MPI_Recv; MPI_Isend and MPI_Irecv with what completes
/// them; or MPI_Send, and a receive that looks for the message first.
enum class Completion { blocking, wait, waitall, test, probe, iprobe, mprobe, improbe };
/// By which call the receiver asks, in pattern=polling, for a message that is not there.
enum class Poll { iprobe, improbe, test, testall };
/// What the messages of a window are: fresh nonblocking ones, persistent ones, or the partitions of one.
enum class RequestKind { fresh, persistent, partitioned };
/// Whom a receive names: its sender, or MPI_ANY_SOURCE.
enum class Source { named, any };

/// In which order the live buffers are used.
enum class Order { forward, reverse, shuffled };
/// What is done to the caches before each message: nothing, the message's bytes are read, or thrown out.
enum class Cache { as_is, warm, cold };

/// Of a sample of overlap, in the header of its block (docs/internals/record.md).
namespace overlap_part {
inline constexpr std::uint64_t communication = 0, computation = 1, both = 2;
}

/// Of the messages of one_way with other_bytes, in the header of their blocks.
namespace length_part {
inline constexpr std::uint64_t message = 0, other = 1;
}

/// How a message lies in the memory of one side.
struct Shape {
    Datatype datatype;
    Layout layout;
};

/// Memory of one side.
struct SideConfig {
    memory::Kind kind;
    memory::Pages pages;
    std::optional<int> device;  ///< nullopt: the devices of a node in turn
    std::int64_t buffer_bytes;
    std::int64_t overalloc_bytes;
    std::int64_t offset_bytes;
    memory::Touch touch;  ///< of every page before the first message
    Cache cache;
    std::int64_t allocation_bytes() const { return buffer_bytes + overalloc_bytes; }
    bool is_written() const { return touch == memory::Touch::write; }
    /// Whether no processor reads it as its own.
    bool is_on_gpu() const {
        return kind == memory::Kind::device || kind == memory::Kind::device_pool ||
               kind == memory::Kind::device_vmm;
    }
};

struct Config {
    Pattern pattern;
    std::array<Shape, 2> shapes;  ///< by Side
    Pack pack;
    Posted posted;
    std::int64_t queue;
    Completion completion;
    Source source;
    Poll poll;
    RequestKind requests;
    bool open_receive;  ///< the sender has a receive of another tag open while it sends
    bool tests;         ///< the computation of overlap calls MPI_Testall now and then
    bool reversed;      ///< rank 0 receives what the last rank or `peer` sends
    bool both_ways;     ///< windowed: both ends of a pair send and receive at once
    Order order;
    double idle_s;                            ///< between the barrier and each message; 0: none
    bool idle_sleeps;                         ///< else it spins
    std::optional<std::int64_t> other_bytes;  ///< length of every second message; nullopt: all are alike
    std::optional<int> peer;                  ///< nullopt: the last rank
    std::array<SideConfig, 2> sides;          ///< by Side
    std::int64_t message_bytes;
    std::int64_t allocations;
    std::int64_t live_buffers;
    std::int64_t messages;
    bool barrier_inside;
    std::int64_t in_flight;
    bool one_place;  ///< windowed: the messages of a thread's window all arrive in one place
    std::int64_t pairs;
    std::int64_t threads;  ///< of each rank that takes part, each with windows of its own
    std::int64_t samples;
    double time_limit_s;
    double warmup_s;
    bool validate;

    /// Sides that send. A side of ping_pong has a buffer for each direction, as benchmarks usually have: with
    /// one buffer for both, each message would have to fetch lines that the other core has just written.
    std::span<const Side> directions() const {
        static constexpr std::array both{Side::sender, Side::receiver};
        const bool two_way = pattern == Pattern::ping_pong || pattern == Pattern::overlap || both_ways;
        return std::span(both).first(two_way ? 2 : 1);
    }
    const SideConfig& side(Side which) const { return sides[which == Side::sender ? 0 : 1]; }
    const Shape& shape(Side which) const { return shapes[which == Side::sender ? 0 : 1]; }
    bool packs() const { return pack != Pack::none; }
    /// The shape of a side whose messages are in blocks, the sender's where both are; null: of neither.
    const Shape* in_blocks() const {
        for (const Shape& shape : shapes)
            if (shape.datatype != Datatype::contiguous) return &shape;
        return nullptr;
    }
    /// Whether the buffers may be filled before the first message, which writes to every page.
    bool writes_both() const { return sides[0].is_written() && sides[1].is_written(); }
    /// What stands in a buffer of a side: the message, or the longer one where two lengths alternate.
    Layout payload(Side which) const;
    /// Whether something happens between the barrier and a message, or before the barrier.
    bool prepares() const {
        return idle_s > 0 || sides[0].cache != Cache::as_is || sides[1].cache != Cache::as_is;
    }
    /// Whether its calls are others than MPI_Send and MPI_Recv with a name.
    bool calls_otherwise() const {
        return completion != Completion::blocking || source != Source::named || open_receive;
    }
    bool is_partitioned() const { return requests == RequestKind::partitioned; }
    /// Bytes from one message to the next in a receiver's window: messages begin on cache lines of their own,
    /// and partitions where the one before them ends.
    std::int64_t stride_bytes(Side which) const {
        const std::int64_t one = payload(which).extent_bytes();
        return is_partitioned() ? one : (one + 63) / 64 * 64;
    }
    /// Places of a thread's window in a receiver's buffer: pending receives must not share memory (MPI-4.1
    /// section 3.7.2), which widespread benchmarks of bandwidth ignore; pending sends may (since MPI-2.2).
    std::int64_t window_places() const { return one_place ? 1 : in_flight; }
    /// Messages that stand side by side in a buffer.
    std::int64_t slots(Side which) const {
        const bool apart = which == Side::receiver || both_ways || is_partitioned();
        return pattern == Pattern::windowed && apart ? window_places() * threads : 1;
    }
    /// Messages of a pair in one window of all its threads, in both directions.
    std::int64_t window_messages() const { return in_flight * threads * (both_ways ? 2 : 1); }
    /// From the first byte of the first message to the last byte of the last one.
    std::int64_t span_bytes(Side which) const {
        const std::int64_t one = payload(which).extent_bytes();
        return slots(which) == 1 ? one : (slots(which) - 1) * stride_bytes(which) + one;
    }
};

/// @throws UsageError: a message that leaves its buffer, pages that the kind of memory can't have, ...
Config configure(const Assignment& assignment);

}  // namespace slowpath::p2p
