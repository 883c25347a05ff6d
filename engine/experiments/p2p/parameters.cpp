// SPDX-License-Identifier: Apache-2.0
#include "p2p/parameters.hpp"

#include <climits>

#include "core/error.hpp"
#include "p2p/message.hpp"

namespace slowpath::p2p {
namespace {

const char* name(Side side) {
    return side == Side::sender ? "sender" : "receiver";
}

std::string sum_text(const SideConfig& side) {
    return "buffer_bytes " + std::to_string(side.buffer_bytes) + " + overalloc_bytes " +
           std::to_string(side.overalloc_bytes);
}

/// Bytes that the side's messages need; throws where the sum leaves 63 bits.
std::int64_t needed_bytes(const Config& config, Side which) {
    std::int64_t rounded = 0, needed = 0;
    bool overflow = __builtin_add_overflow(config.payload(which).extent_bytes(), 63, &rounded);
    overflow = __builtin_mul_overflow(rounded, config.slots(which), &needed) || overflow;
    if (overflow && config.slots(which) > 1)
        throw UsageError(std::to_string(config.slots(which)) + " messages in flight of message_bytes " +
                         std::to_string(config.message_bytes) +
                         " don't fit in 2^63 bytes; take fewer or shorter ones");
    return config.span_bytes(which);
}

/// What only some patterns have.
void check_pattern(const Config& config) {
    const bool one_way = config.pattern == Pattern::one_way;
    const bool polls = config.pattern == Pattern::polling;
    if (config.posted != Posted::together && !one_way && !polls)
        throw UsageError("posted=before and after are for pattern=one_way and polling; leave posted out");
    if (config.posted != Posted::together && config.barrier_inside)
        throw UsageError(
            "posted=before and after time the receiver, and synchronise=inside the sender; leave one out");
    if (config.queue > 0 && config.posted == Posted::together)
        throw UsageError(
            "queue " + std::to_string(config.queue) +
            " needs to know which queue: take pattern=one_way or polling, and posted=before or posted=after");
    const std::string pack = config.pack == Pack::loop ? "pack=loop" : "pack=mpi_pack";
    if (config.packs() &&
        ((!one_way && config.pattern != Pattern::ping_pong) || config.posted != Posted::together))
        throw UsageError(pack +
                         " is for pattern=ping_pong, and for one_way with posted=together; leave pack out");
    if (config.packs() && config.message_bytes > INT_MAX / 2)
        throw UsageError("message_bytes " + std::to_string(config.message_bytes) + " is over " +
                         std::to_string(INT_MAX / 2) + ", the most that " + pack + " takes");
    if (config.tests && config.pattern != Pattern::overlap)
        throw UsageError("progress=test is for pattern=overlap; leave progress out");
    if (config.both_ways && config.pattern != Pattern::windowed)
        throw UsageError("direction=both is for pattern=windowed; leave direction out");
    if (config.poll != Poll::iprobe && !polls)
        throw UsageError("poll is for pattern=polling; leave poll out");
    if (config.threads > 1 && config.pattern != Pattern::windowed)
        throw UsageError("threads is for pattern=windowed; leave threads out");
    if (config.one_place && (config.pattern != Pattern::windowed || config.is_partitioned()))
        throw UsageError(
            "places=one is for pattern=windowed, and not for requests=partitioned; leave places out");
}

/// Requests that are made before they are timed belong to one buffer.
void check_requests(const Config& config) {
    if (config.requests == RequestKind::fresh) return;
    if (config.pattern != Pattern::windowed || config.live_buffers > 1)
        throw UsageError(
            "requests=persistent and partitioned are for pattern=windowed with live_buffers 1; leave "
            "requests "
            "out");
    if (config.is_partitioned() && (config.both_ways || config.in_blocks() != nullptr))
        throw UsageError(
            "requests=partitioned is for direction=forward and datatype=contiguous; leave requests out");
    if (config.is_partitioned() && config.message_bytes > INT_MAX)
        throw UsageError("message_bytes " + std::to_string(config.message_bytes) + " is over " +
                         std::to_string(INT_MAX) + ", the most that requests=partitioned takes");
}

/// What is done between single messages, which only some patterns have.
void check_singles(const Config& config) {
    const bool one_way = config.pattern == Pattern::one_way;
    const bool single = one_way && config.posted == Posted::together && !config.barrier_inside;
    if (config.prepares() && !single)
        throw UsageError(
            "idle_s and cache are for pattern=one_way with posted=together and synchronise=outside, which "
            "time "
            "messages one by one; leave them out");
    const bool names_source = config.source != Source::named && config.pattern == Pattern::polling &&
                              config.completion == Completion::blocking && !config.open_receive;
    if (config.calls_otherwise() && (!single || config.packs()) && !names_source)
        throw UsageError(
            "completion, source and open_receive are for pattern=one_way with posted=together, "
            "synchronise=outside and pack=none, and source for pattern=polling; leave them out");
    if (config.other_bytes && (!single || config.packs() || config.in_blocks() != nullptr))
        throw UsageError(
            "other_bytes is for pattern=one_way with posted=together, synchronise=outside and "
            "datatype=contiguous; leave it out");
    const bool has_ends =
        one_way || config.pattern == Pattern::ping_pong || config.pattern == Pattern::polling;
    if (config.reversed && !has_ends)
        throw UsageError(
            "direction=reverse is for pattern=one_way, ping_pong and polling; leave direction out");
}

/// All later messages of a set are kept one by one.
void check_messages(const Config& config) {
    constexpr std::int64_t most = 100'000'000;
    if (config.messages <= most / config.live_buffers) return;
    throw UsageError("messages " + std::to_string(config.messages) + " of each of live_buffers " +
                     std::to_string(config.live_buffers) + " are over " + std::to_string(most) +
                     "; take fewer of one of them");
}

/// Lines are read and thrown out by the processor, in memory that it has written.
void check_cache(const SideConfig& side, Side which) {
    if (side.cache == Cache::as_is) return;
    if (side.kind != memory::Kind::host && side.kind != memory::Kind::mpi &&
        side.kind != memory::Kind::pinned_host && side.kind != memory::Kind::pinned_registered)
        throw UsageError("cache=warm and cold are for memory of the processor, not for memory=" +
                         std::string(memory::name(side.kind)) + ", which the " + name(which) +
                         " has; leave cache out");
    if (!side.is_written())
        throw UsageError(
            "cache=warm and cold touch the memory that touch=" + std::string(memory::name(side.touch)) +
            " leaves untouched (" + name(which) + "); leave one out");
}

SideConfig side_config(const Assignment& assignment, const Config& config, Side which) {
    SideConfig side{};
    side.kind = memory::kind_from(assignment.text("memory", which)).value();
    side.pages = memory::pages_from(assignment.text("pages", which)).value();
    if (assignment.text("device", which) != "auto")
        side.device = static_cast<int>(assignment.integer("device", which));
    const std::int64_t needed = needed_bytes(config, which);
    side.buffer_bytes = assignment.text("buffer_bytes", which) == "message"
                            ? needed
                            : assignment.integer("buffer_bytes", which);
    side.overalloc_bytes = assignment.integer("overalloc_bytes", which);
    side.offset_bytes = assignment.integer("offset_bytes", which);
    side.touch = memory::touch_from(assignment.text("touch", which)).value();
    side.cache = assignment.chosen<Cache>("cache", which);
    check_cache(side, which);
    if (!memory::takes(side.kind, side.pages))
        throw UsageError("pages=" + std::string(memory::name(side.pages)) +
                         " is not for memory=" + memory::name(side.kind) + ", which the " + name(which) +
                         " has; leave pages=default, or take memory=host");
    std::int64_t allocation = 0, end = 0;
    if (__builtin_add_overflow(side.buffer_bytes, side.overalloc_bytes, &allocation))
        throw UsageError(sum_text(side) + " is over 2^63-1 bytes (" + name(which) + ")");
    if (__builtin_add_overflow(side.offset_bytes, needed, &end) || end > allocation)
        throw UsageError(
            "the message leaves the buffer (" + std::string(name(which)) + "): offset_bytes " +
            std::to_string(side.offset_bytes) + " + " + std::to_string(needed) + " bytes of " +
            (config.slots(which) > 1 ? std::to_string(config.slots(which)) + " messages" : "message") +
            " > " + sum_text(side) + "; raise buffer_bytes or overalloc_bytes");
    return side;
}

}  // namespace

Layout Config::payload(Side which) const {
    if (!other_bytes || *other_bytes <= message_bytes) return shape(which).layout;
    return Layout::piece(*other_bytes);
}

Config configure(const Assignment& assignment) {
    Config config{};
    config.pattern = assignment.chosen<Pattern>("pattern");
    config.message_bytes = assignment.integer("message_bytes");
    config.shapes = {shape_of(assignment, Side::sender), shape_of(assignment, Side::receiver)};
    config.pack = assignment.chosen<Pack>("pack");
    config.posted = assignment.chosen<Posted>("posted");
    config.queue = assignment.integer("queue");
    config.completion = assignment.chosen<Completion>("completion");
    config.source = assignment.chosen<Source>("source");
    config.poll = assignment.chosen<Poll>("poll");
    config.requests = assignment.chosen<RequestKind>("requests");
    config.open_receive = assignment.flag("open_receive");
    config.tests = assignment.text("progress") == "test";
    config.reversed = assignment.text("direction") == "reverse";
    config.both_ways = assignment.text("direction") == "both";
    config.order = assignment.chosen<Order>("order");
    config.idle_s = assignment.seconds("idle_s");
    config.idle_sleeps = assignment.text("idle") == "sleep";
    if (assignment.text("other_bytes") != "none") config.other_bytes = assignment.integer("other_bytes");
    if (assignment.text("peer") != "last") config.peer = static_cast<int>(assignment.integer("peer"));
    config.allocations = assignment.integer("allocations");
    config.live_buffers = assignment.integer("live_buffers");
    config.messages = assignment.integer("messages");
    config.barrier_inside = assignment.text("synchronise") == "inside";
    config.in_flight = assignment.integer("in_flight");
    config.one_place = assignment.text("places") == "one";
    config.pairs = assignment.integer("pairs");
    config.threads = assignment.integer("threads");
    config.samples = assignment.integer("samples");
    config.time_limit_s = assignment.seconds("time_limit_s");
    config.warmup_s = assignment.seconds("warmup_s");
    config.validate = assignment.flag("validate");
    check_messages(config);
    check_pattern(config);
    check_requests(config);
    config.sides = {side_config(assignment, config, Side::sender),
                    side_config(assignment, config, Side::receiver)};
    if (config.pack == Pack::loop && (config.sides[0].is_on_gpu() || config.sides[1].is_on_gpu()))
        throw UsageError("pack=loop is for memory that a processor reads; take pack=mpi_pack");
    check_singles(config);
    return config;
}

}  // namespace slowpath::p2p
