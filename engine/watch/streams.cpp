// SPDX-License-Identifier: Apache-2.0
#include "watch/streams.hpp"

#include "watch/layout.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

struct Counter {
    std::uint64_t key;
    std::uint32_t next;
    std::uint32_t highest_order;
};

/// 8 MiB at most: a program that takes a new tag for each message has as many streams as messages.
constinit Table<Counter, 1024, (8 << 20) / sizeof(Counter)> counters{};

/// Receives for any source or tag that are not settled.
struct Open {
    std::uint32_t order;
    std::uint16_t communicator;
    std::int32_t peer;
    std::int32_t tag;
};
constexpr std::uint32_t most_open = 256;
constinit Open open[most_open]{};
constinit std::uint32_t open_count = 0;
constinit std::uint32_t open_unlisted = 0;
constinit std::uint32_t last_order = 0;

std::uint64_t key_of(const Stream& stream) {
    // Never 0: rank 0 stands as 1.
    const std::uint64_t peer = static_cast<std::uint64_t>(stream.peer + 1) & 0xfffff;
    const std::uint64_t tag = static_cast<std::uint64_t>(static_cast<std::uint32_t>(stream.tag)) & 0x7fffffff;
    return tag << 33 | peer << 13 | static_cast<std::uint64_t>(stream.communicator & 0x7ff) << 2 |
           static_cast<std::uint64_t>(stream.is_receive) << 1 |
           static_cast<std::uint64_t>(stream.is_partitioned);
}

bool may_take(const Open& earlier, const Stream& message) {
    return earlier.communicator == message.communicator &&
           (earlier.peer == any_rank || message.peer == any_rank || earlier.peer == message.peer) &&
           (earlier.tag == any_tag || message.tag == any_tag || earlier.tag == message.tag);
}

/// Orders wrap around after 2^32 receives.
bool is_earlier(std::uint32_t one, std::uint32_t other) {
    return static_cast<std::int32_t>(one - other) < 0;
}

bool is_open_before(const Stream& message, std::uint32_t order) {
    if (open_unlisted > 0) return true;
    for (std::uint32_t at = 0; at < open_count; ++at)
        if (is_earlier(open[at].order, order) && may_take(open[at], message)) return true;
    return false;
}

}  // namespace

std::uint32_t number_send(const Stream& stream) {
    if (stream.communicator == layout::no_row) return layout::not_known;
    Counter* counter = counters.put(key_of(stream));
    return counter == nullptr ? layout::not_known : counter->next++;
}

std::uint32_t post_receive(const Stream& wanted) {
    ++last_order;
    if (is_any(wanted) && !wanted.is_partitioned) {
        if (open_count < most_open)
            open[open_count++] = {last_order, wanted.communicator, wanted.peer, wanted.tag};
        else
            ++open_unlisted;
    }
    return last_order;
}

std::uint32_t number_receive(const Stream& stream, std::uint32_t order) {
    if (stream.communicator == layout::no_row || stream.peer < 0 || stream.tag < 0) return layout::not_known;
    Counter* counter = counters.put(key_of(stream));
    if (counter == nullptr) return layout::not_known;
    const bool is_late = counter->next > 0 && is_earlier(order, counter->highest_order);
    if (!is_late) counter->highest_order = order;
    const std::uint32_t number = counter->next++;
    return is_late || is_open_before(stream, order) ? layout::not_known : number;
}

bool take_back(const Stream& stream, std::uint32_t order) {
    Counter* counter = counters.put(key_of(stream));
    if (counter == nullptr || counter->next == 0 || counter->highest_order != order) return false;
    --counter->next;
    return true;
}

bool is_certain(const Stream& wanted) {
    return !is_any(wanted) && (wanted.is_partitioned || !is_open_before(wanted, last_order + 1));
}

bool count_message(const Stream& stream, StreamCounter& known) {
    if (stream.is_receive && (open_count != 0 || open_unlisted != 0)) return false;
    if (known.counter == nullptr || known.capacity != counters.capacity()) {
        known.counter = counters.put(key_of(stream));
        known.capacity = counters.capacity();
        if (known.counter == nullptr) return false;
    }
    Counter& counter = *static_cast<Counter*>(known.counter);
    if (stream.is_receive) counter.highest_order = ++last_order;
    ++counter.next;
    return true;
}

void settle_receive(std::uint32_t order) {
    for (std::uint32_t at = 0; at < open_count; ++at) {
        if (open[at].order != order) continue;
        open[at] = open[--open_count];
        return;
    }
    if (open_unlisted > 0) --open_unlisted;
}

void begin_streams() {
    counters.clear();
    open_count = open_unlisted = last_order = 0;
}

}  // namespace slowpath::watch
