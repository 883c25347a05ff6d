// SPDX-License-Identifier: Apache-2.0
#include "witness/messages.hpp"

#include <array>
#include <atomic>
#include <cstddef>

#include "witness/slowpath_witness.h"

namespace slowpath::witness {
namespace {

constexpr std::size_t files = 8192;
constexpr std::size_t room = std::size_t{1} << 17;

struct Stream {
    std::atomic<std::uint64_t> sent;
    std::atomic<std::uint64_t> received;
};

// Both are zero pages until they are used.
constinit std::array<Stream, files> streams{};
constinit std::array<slowpath_witness_message, room> logged{};
constinit std::atomic<std::size_t> length{0};
constinit std::atomic<bool> recording{false};

void append(std::uint32_t what, std::int32_t file, std::uint64_t from, std::uint64_t bytes) {
    if (!recording.load(std::memory_order_acquire)) return;
    const std::size_t place = length.fetch_add(1, std::memory_order_relaxed);
    if (place < room) logged[place] = {what, file, from, bytes};
}

void note_moved(std::uint32_t what, std::atomic<std::uint64_t> Stream::*way, int file, std::uint64_t bytes) {
    if (file < 0 || static_cast<std::size_t>(file) >= files || bytes == 0) return;
    Stream& stream = streams[static_cast<std::size_t>(file)];
    append(what, file, (stream.*way).fetch_add(bytes, std::memory_order_relaxed), bytes);
}

}  // namespace

void note_sent(int file, std::uint64_t bytes) {
    note_moved(SLOWPATH_WITNESS_SENT, &Stream::sent, file, bytes);
}

void note_received(int file, std::uint64_t bytes) {
    note_moved(SLOWPATH_WITNESS_RECEIVED, &Stream::received, file, bytes);
}

void forget(int file) {
    if (file < 0 || static_cast<std::size_t>(file) >= files) return;
    Stream& stream = streams[static_cast<std::size_t>(file)];
    stream.sent.store(0, std::memory_order_relaxed);
    stream.received.store(0, std::memory_order_relaxed);
}

}  // namespace slowpath::witness

#pragma GCC visibility push(default)
extern "C" {

void slowpath_witness_messages_start(void) {
    using namespace slowpath::witness;
    length.store(0, std::memory_order_relaxed);
    recording.store(true, std::memory_order_release);
}

void slowpath_witness_messages_mark(uint32_t what, uint64_t number) {
    slowpath::witness::append(what, -1, number, 0);
}

size_t slowpath_witness_messages_stop(const struct slowpath_witness_message** log) {
    using namespace slowpath::witness;
    recording.store(false, std::memory_order_release);
    *log = logged.data();
    return length.load(std::memory_order_relaxed);
}

size_t slowpath_witness_messages_room(void) {
    return slowpath::witness::room;
}

}  // extern "C"
#pragma GCC visibility pop
