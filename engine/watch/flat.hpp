// SPDX-License-Identifier: Apache-2.0
/// The layout of a datatype without a list of its blocks: what can be known of a sequence of blocks by what
/// is known of its parts. A sequence of 2^40 blocks costs what one of 40 costs.
///
/// Blocks are joined where one begins at the byte where the one before it ends, in the order of the type map.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace slowpath::watch {

/// Beginnings of blocks: whether they are at one distance.
struct Steps {
    std::uint64_t count = 0;
    std::int64_t first = 0;
    std::int64_t step = 0;  ///< of two and more
    bool is_even = true;

    std::int64_t last() const { return first + step * static_cast<std::int64_t>(count - 1); }
};

inline Steps operator+(const Steps& a, const Steps& b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    Steps sum{a.count + b.count, a.first, 0, false};
    if (!a.is_even || !b.is_even) return sum;
    sum.step = b.first - a.last();
    sum.is_even = (a.count == 1 || a.step == sum.step) && (b.count == 1 || b.step == sum.step);
    return sum;
}

struct Block {
    std::int64_t begin = 0;
    std::int64_t bytes = 0;
    std::int64_t end() const { return begin + bytes; }
};

/// Lengths of blocks.
struct Lengths {
    std::int64_t least = INT64_MAX;
    std::int64_t most = 0;
    void add(std::int64_t bytes) { add({bytes, bytes}); }
    void add(const Lengths& other) {
        least = std::min(least, other.least);
        most = std::max(most, other.most);
    }
};

struct Flat {
    bool is_known = true;
    std::uint64_t blocks = 0;
    std::int64_t bytes = 0;  ///< of all blocks
    Block first, last;       ///< one and the same where there is one block
    Lengths between;         ///< of all but the first and the last
    std::int64_t begin = 0;  ///< of the lowest byte
    Steps all;
    Steps behind_first;

    Lengths lengths() const {
        Lengths lengths = between;
        lengths.add(first.bytes);
        lengths.add(last.bytes);
        return lengths;
    }
    /// All of one length, at one distance.
    bool is_regular() const { return all.is_even && lengths().least == lengths().most; }
};

inline Flat unknown_layout() {
    Flat flat;
    flat.is_known = false;
    return flat;
}

inline Flat one_block(std::int64_t begin, std::int64_t bytes) {
    Flat flat;
    if (bytes == 0) return flat;
    flat.blocks = 1;
    flat.bytes = bytes;
    flat.first = flat.last = {begin, bytes};
    flat.begin = begin;
    flat.all = {1, begin};
    return flat;
}

inline Flat shifted(Flat flat, std::int64_t by) {
    for (std::int64_t* const at :
         {&flat.first.begin, &flat.last.begin, &flat.begin, &flat.all.first, &flat.behind_first.first})
        *at += by;
    return flat;
}

/// One block more: without copies of a layout, since lists have thousands.
inline void append(Flat& sum, const Block& block) {
    if (!sum.is_known || block.bytes == 0) return;
    if (sum.blocks == 0) {
        sum = one_block(block.begin, block.bytes);
        return;
    }
    sum.bytes += block.bytes;
    sum.begin = std::min(sum.begin, block.begin);
    if (sum.last.end() == block.begin) {
        sum.last.bytes += block.bytes;
        if (sum.blocks == 1) sum.first = sum.last;
        return;
    }
    if (sum.blocks > 1) sum.between.add(sum.last.bytes);
    sum.last = block;
    ++sum.blocks;
    sum.all = sum.all + Steps{1, block.begin};
    sum.behind_first = sum.behind_first + Steps{1, block.begin};
}

/// `a`, then `b`.
inline Flat operator+(const Flat& a, const Flat& b) {
    if (!a.is_known || !b.is_known) return unknown_layout();
    if (a.blocks == 0) return b;
    if (b.blocks == 0) return a;
    const bool joined = a.last.end() == b.first.begin;
    const Block middle{a.last.begin, a.last.bytes + b.first.bytes};
    Flat sum;
    sum.bytes = a.bytes + b.bytes;
    sum.blocks = a.blocks + b.blocks - (joined ? 1 : 0);
    sum.first = joined && a.blocks == 1 ? middle : a.first;
    sum.last = joined && b.blocks == 1 ? middle : b.last;
    sum.between = a.between;
    sum.between.add(b.between);
    if (joined) {
        if (a.blocks > 1 && b.blocks > 1) sum.between.add(middle.bytes);
    } else {
        if (a.blocks > 1) sum.between.add(a.last.bytes);
        if (b.blocks > 1) sum.between.add(b.first.bytes);
    }
    sum.begin = std::min(a.begin, b.begin);
    const Steps& more = joined ? b.behind_first : b.all;
    sum.all = a.all + more;
    sum.behind_first = a.behind_first + more;
    return sum;
}

/// `flat` `count` times, each `step` behind the one before.
inline Flat repeated(const Flat& flat, std::int64_t count, std::int64_t step) {
    constexpr std::int64_t most = INT64_MAX / 4;
    std::int64_t reach = 0;
    std::int64_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow(count, step, &reach) || reach > most || reach < -most ||
        __builtin_mul_overflow(count, flat.bytes, &bytes) || bytes > most)
        return unknown_layout();
    if (flat.blocks == 1 && step == flat.bytes) return one_block(flat.begin, bytes);
    Flat sum, power = flat;
    std::int64_t at = 0;
    for (auto left = static_cast<std::uint64_t>(count); left != 0; left >>= 1) {
        if ((left & 1) != 0) {
            sum = sum + shifted(power, at);
            at += step;
        }
        if (left == 1) break;
        power = power + shifted(power, step);
        step *= 2;
    }
    return sum;
}

}  // namespace slowpath::watch
