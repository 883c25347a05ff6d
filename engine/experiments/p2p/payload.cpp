// SPDX-License-Identifier: Apache-2.0
#include "p2p/payload.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#ifdef SLOWPATH_INJECT_FAULT
#include <cstdlib>
#endif

namespace slowpath::p2p {
namespace {

constexpr std::int64_t guard_bytes = 64;
constexpr std::byte guard_value = gap_value;
constexpr std::size_t chunk_bytes = 1U << 18;  // a multiple of 8, and small enough to stay in a cache

std::size_t unsigned_of(std::int64_t bytes) {
    return static_cast<std::size_t>(bytes);
}

/// For tests of the comparison: SLOWPATH_INJECT_FAULT names a byte of the message that arrives wrong.
void inject_fault([[maybe_unused]] std::span<std::byte> got, [[maybe_unused]] std::int64_t begin) {
#ifdef SLOWPATH_INJECT_FAULT
    const char* const text = std::getenv("SLOWPATH_INJECT_FAULT");
    const std::int64_t index = text == nullptr ? -1 : std::atoll(text) - begin;
    if (index >= 0 && unsigned_of(index) < got.size()) got[unsigned_of(index)] ^= std::byte{1};
#endif
}

}  // namespace

Payload::Payload(const Config& config, Side which)
    : layout_(config.payload(which)),
      stride_bytes_(config.slots(which) > 1 ? config.stride_bytes(which) : layout_.extent_bytes()),
      slots_(config.slots(which)),
      offset_bytes_(config.side(which).offset_bytes),
      span_bytes_(config.span_bytes(which)),
      guard_before_bytes_(std::min(guard_bytes, offset_bytes_)),
      guard_after_bytes_(
          std::min(guard_bytes, config.side(which).allocation_bytes() - offset_bytes_ - span_bytes_)) {}

void Payload::write_message(memory::Buffer& buffer, std::int64_t at, std::uint64_t seed,
                            bool inverted) const {
    const std::int64_t extent = layout_.extent_bytes();
    std::vector<std::byte> chunk(std::min(chunk_bytes, unsigned_of(extent)));
    for (std::int64_t begin = 0; begin < extent;) {
        const std::span part(chunk.data(), std::min(chunk.size(), unsigned_of(extent - begin)));
        layout_.fill(part, begin, seed, inverted);
        buffer.write(unsigned_of(at + begin), part);
        begin += static_cast<std::int64_t>(part.size());
    }
}

void Payload::fill(memory::Buffer& buffer, std::uint64_t seed) const {
    mark(buffer);
    for (std::int64_t slot = 0; slot < slots_; ++slot)
        write_message(buffer, offset_bytes_ + slot * stride_bytes_, seed, false);
}

void Payload::poison(memory::Buffer& buffer, std::uint64_t seed) const {
    for (std::int64_t slot = 0; slot < slots_; ++slot)
        write_message(buffer, offset_bytes_ + slot * stride_bytes_, seed, true);
    mark(buffer);
}

void Payload::mark(memory::Buffer& buffer) const {
    std::array<std::byte, guard_bytes> guard;
    guard.fill(guard_value);
    const std::span all(guard);
    buffer.write(unsigned_of(offset_bytes_ - guard_before_bytes_),
                 all.first(unsigned_of(guard_before_bytes_)));
    buffer.write(unsigned_of(offset_bytes_ + span_bytes_), all.first(unsigned_of(guard_after_bytes_)));
}

void Payload::compare_message(const memory::Buffer& buffer, std::int64_t at, std::uint64_t seed,
                              Result& result) const {
    const std::int64_t extent = layout_.extent_bytes();
    std::vector<std::byte> expected(std::min(chunk_bytes, unsigned_of(extent))), got(expected.size());
    for (std::int64_t begin = 0; begin < extent;) {
        const std::size_t length = std::min(got.size(), unsigned_of(extent - begin));
        const std::span want(expected.data(), length), part(got.data(), length);
        layout_.fill(want, begin, seed, false);
        buffer.read(unsigned_of(at + begin), part);
        inject_fault(part, begin);
        // std::equal compares std::byte one by one.
        if (std::memcmp(part.data(), want.data(), length) != 0) {
            for (std::size_t i = 0; i < length; ++i) {
                if (part[i] == want[i]) continue;
                ++result.wrong_bytes;
                if (!result.first_wrong)
                    result.first_wrong = at - offset_bytes_ + begin + static_cast<std::int64_t>(i);
            }
        }
        begin += static_cast<std::int64_t>(length);
    }
    result.compared_bytes += extent;
}

void Payload::compare_guard(const memory::Buffer& buffer, std::int64_t at, std::int64_t bytes,
                            Result& result) const {
    std::array<std::byte, guard_bytes> guard;
    buffer.read(unsigned_of(at), std::span(guard).first(unsigned_of(bytes)));
    for (std::int64_t i = 0; i < bytes; ++i) {
        if (guard[unsigned_of(i)] == guard_value) continue;
        ++result.wrong_bytes;
        if (!result.first_wrong) result.first_wrong = at - offset_bytes_ + i;
    }
    result.compared_bytes += bytes;
}

Payload::Result Payload::compare(const memory::Buffer& buffer, std::uint64_t seed) const {
    Result result;
    compare_guard(buffer, offset_bytes_ - guard_before_bytes_, guard_before_bytes_, result);
    for (std::int64_t slot = 0; slot < slots_; ++slot)
        compare_message(buffer, offset_bytes_ + slot * stride_bytes_, seed, result);
    compare_guard(buffer, offset_bytes_ + span_bytes_, guard_after_bytes_, result);
    return result;
}

}  // namespace slowpath::p2p
