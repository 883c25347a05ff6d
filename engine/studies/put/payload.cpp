// SPDX-License-Identifier: Apache-2.0
#include "put/payload.hpp"

#include <cstring>

#include "core/pattern.hpp"
#include "put/parameters.hpp"

#ifdef SLOWPATH_INJECT_FAULT
#include <cstdlib>
#endif

namespace slowpath::put {
namespace {

using Bytes = std::vector<std::byte>;

bool adds(Operation operation) {
    return operation == Operation::accumulate || operation == Operation::fetch_and_op;
}

std::size_t offset_of(const Layout& layout, const Shape& shape, std::int64_t slot, std::int64_t element,
                      std::size_t field) {
    return static_cast<std::size_t>(slot * layout.slot_bytes + element * shape.extent_bytes +
                                    shape.fields[field].offset_bytes);
}

/// Call `each` with the offset at the origin, that at the target, and the basic type of every field of a
/// slot.
template <class Each>
void for_fields(const Layout& layout, std::int64_t slot, Each&& each) {
    for (std::int64_t element = 0; element < layout.count; ++element)
        for (std::size_t field = 0; field < layout.shape.fields.size(); ++field)
            each(offset_of(layout, layout.shape, slot, element, field),
                 offset_of(layout, layout.target_shape, slot, element, field),
                 layout.shape.fields[field].basic);
}

template <class Number>
Number load(const Bytes& from, std::size_t offset) {
    Number number;
    std::memcpy(&number, from.data() + offset, sizeof number);
    return number;
}

template <class Number>
void store(Bytes& to, std::size_t offset, Number number) {
    std::memcpy(to.data() + offset, &number, sizeof number);
}

/// Keep the digits of a random pattern, and make sign and exponent those of a number in [1, 2).
void make_number(Bytes& bytes, std::size_t offset, Basic basic) {
    if (basic == Basic::float64)
        store(bytes, offset, (load<std::uint64_t>(bytes, offset) >> 12) | 0x3ff0'0000'0000'0000);
    if (basic == Basic::float32)
        store(bytes, offset, (load<std::uint32_t>(bytes, offset) >> 9) | 0x3f80'0000U);
}

/// `times` additions one by one, rounded as the library's are.
template <class Number>
void add(Bytes& to, const Bytes& from, std::size_t offset, std::int64_t times) {
    Number sum = load<Number>(to, offset);
    for (std::int64_t i = 0; i < times; ++i) sum += load<Number>(from, offset);
    store(to, offset, sum);
}

void add_field(Bytes& to, const Bytes& from, std::size_t offset, Basic basic, std::int64_t times) {
    basic == Basic::float64 ? add<double>(to, from, offset, times) : add<float>(to, from, offset, times);
}

void copy_field(Bytes& to, std::size_t to_offset, const Bytes& from, std::size_t from_offset, Basic basic) {
    std::memcpy(to.data() + to_offset, from.data() + from_offset, static_cast<std::size_t>(bytes_of(basic)));
}

/// What arrives where nothing else goes wrong.
Bytes source_of_puts(const Config& config, Bytes origin) {
    if (!stores_one_value(config)) return origin;
    const auto word = load<std::uint64_t>(origin, 0);
    for (std::size_t at = 0; at < origin.size(); at += sizeof word) store(origin, at, word);
    return origin;
}

/// For tests of the comparison: SLOWPATH_INJECT_FAULT names a byte of the memory that is wrong.
Bytes with_injected_fault(std::span<const std::byte> memory) {
    Bytes got(memory.begin(), memory.end());
#ifdef SLOWPATH_INJECT_FAULT
    const char* const text = std::getenv("SLOWPATH_INJECT_FAULT");
    const auto index = text == nullptr ? got.size() : static_cast<std::size_t>(std::atoll(text));
    if (index < got.size()) got[index] ^= std::byte{1};
#endif
    return got;
}

}  // namespace

bool only_copies(Operation operation) {
    return operation == Operation::put || operation == Operation::get || operation == Operation::rput;
}

std::vector<std::byte> Payload::before(Role role) const {
    Bytes bytes(layout_.bytes());
    if (role == Role::results) {
        fill_pattern(bytes, mix(seed_, 2), 0, true);
        return bytes;
    }
    const bool arithmetic = !only_copies(config_.operation);
    const Role source = config_.operation == Operation::get ? Role::target : Role::origin;
    const std::uint64_t seed = arithmetic && role == Role::target ? mix(seed_, 1) : seed_;
    fill_pattern(bytes, seed, 0, !arithmetic && role != source);
    if (!adds(config_.operation)) return bytes;
    for (std::int64_t slot = 0; slot < layout_.slots; ++slot)
        for_fields(layout_, slot,
                   [&](std::size_t offset, std::size_t, Basic basic) { make_number(bytes, offset, basic); });
    return bytes;
}

std::vector<std::byte> Payload::after(Role role, std::int64_t puts) const {
    Bytes bytes = before(role);
    const Operation operation = config_.operation;
    const bool receives = role == (operation == Operation::get ? Role::origin : Role::target);
    const bool atomic = operation == Operation::fetch_and_op || operation == Operation::compare_and_swap;
    if (!receives && !(role == Role::results && atomic)) return bytes;
    const Bytes origin = source_of_puts(config_, before(Role::origin)), target = before(Role::target);
    const std::vector<std::int64_t> hits = hits_of(layout_, config_.order, puts);
    // The two offsets differ for a put alone: all else has the same datatype on both sides.
    const auto change = [&](std::size_t offset, std::size_t target_offset, Basic basic, std::int64_t times) {
        if (adds(operation)) {
            // A fetch gives what was there before its own addition.
            if (role == Role::results) copy_field(bytes, offset, target, offset, basic);
            add_field(bytes, origin, offset, basic, role == Role::results ? times - 1 : times);
        } else if (role == Role::results) {
            // The first swap of a slot finds what it compares with; the later ones find the first one's
            // value.
            copy_field(bytes, offset, times == 1 ? target : origin, offset, basic);
        } else {
            operation == Operation::get ? copy_field(bytes, offset, target, target_offset, basic)
                                        : copy_field(bytes, target_offset, origin, offset, basic);
        }
    };
    for (std::int64_t slot = 0; slot < layout_.slots; ++slot) {
        const std::int64_t times = hits[static_cast<std::size_t>(slot)];
        if (times > 0)
            for_fields(layout_, slot, [&](std::size_t offset, std::size_t target_offset, Basic basic) {
                change(offset, target_offset, basic, times);
            });
    }
    return bytes;
}

Difference Payload::compare(Role role, std::int64_t puts, std::span<const std::byte> memory) const {
    const Bytes expected = after(role, puts), got = with_injected_fault(memory);
    Difference difference;
    difference.compared_bytes = static_cast<std::int64_t>(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (got[i] == expected[i]) continue;
        ++difference.wrong_bytes;
        if (!difference.first_wrong) difference.first_wrong = static_cast<std::int64_t>(i);
    }
    return difference;
}

}  // namespace slowpath::put
