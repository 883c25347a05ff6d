// SPDX-License-Identifier: Apache-2.0
#include "watch/datatypes.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>

#include "watch/file.hpp"
#include "watch/library.hpp"
#include "watch/lock.hpp"
#include "watch/type_layout.hpp"

namespace slowpath::watch {
namespace {

/// Known handles: open addressing. A reader takes no lock: what stands behind a key does not change as long
/// as the key's type lives, and a program does not use a type while it frees it.
struct Known {
    std::atomic<Word> handle;  ///< or empty, or gone
    DatatypeView view;
};
constexpr Word empty = 0, gone = 1;
constexpr std::size_t known_size = std::size_t{1} << 13;
constexpr std::size_t most_tries = 64;
constinit Known known[known_size] = {};

constinit SpinLock lock;

/// Rows by their content: row + 1, or 0.
constexpr std::size_t shared_size = std::size_t{1} << 17;
constinit std::uint32_t shared[shared_size] = {};

std::size_t home(Word handle) {
    return static_cast<std::size_t>((std::uint64_t{handle} * 0x9e3779b97f4a7c15) >> 51);
}

const Known* find(Word handle) {
    for (std::size_t i = 0, at = home(handle); i < most_tries; ++i, at = (at + 1) % known_size) {
        const Word here = known[at].handle.load(std::memory_order_acquire);
        if (here == handle) return &known[at];
        if (here == empty) break;
    }
    return nullptr;
}

void keep(Word handle, const DatatypeView& view) {
    const Guard guard(lock);
    if (!guard.held() || find(handle) != nullptr) return;
    for (std::size_t i = 0, at = home(handle); i < most_tries; ++i, at = (at + 1) % known_size) {
        const Word here = known[at].handle.load(std::memory_order_relaxed);
        if (here != empty && here != gone) continue;
        known[at].view = view;
        known[at].handle.store(handle, std::memory_order_release);
        return;
    }
}

enum Shape : std::uint32_t { one_piece = 1, one_stride = 2, irregular = 3, not_known = 4 };

layout::Datatype row_of(const TypeLayout& layout) {
    layout::Datatype row{};
    row.bytes = layout.bytes < 0 ? 0 : static_cast<std::uint64_t>(layout.bytes);
    row.extent_bytes = layout.extent_bytes;
    row.combiner = layout.combiner;
    row.shape = not_known;
    const Flat& flat = layout.flat;
    if (!flat.is_known) return row;
    row.blocks = flat.blocks;
    if (flat.blocks == 0) {
        row.shape = one_piece;
        return row;
    }
    row.least_block_bytes = static_cast<std::uint64_t>(flat.lengths().least);
    row.most_block_bytes = static_cast<std::uint64_t>(flat.lengths().most);
    row.span_bytes = static_cast<std::uint64_t>(flat.end - flat.begin);
    const bool is_dense = flat.blocks == 1 && layout.extent_bytes == layout.bytes;
    row.shape = is_dense ? one_piece : flat.is_regular() ? one_stride : irregular;
    return row;
}

/// A row that another type of this layout may have made. The last one is for all that find no room: of a
/// layout that is not known.
std::uint16_t keep_row(const layout::Datatype& row) {
    const Guard guard(lock);
    Section<layout::Datatype>& rows = sections().datatypes;
    if (!guard.held() || rows.capacity() == 0) return contiguous;
    std::uint64_t hash = 0;
    std::uint64_t words[sizeof row / 8];
    std::memcpy(words, &row, sizeof row);
    for (const std::uint64_t word : words) hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    std::size_t at = hash >> 47;
    for (; shared[at] != 0; at = (at + 1) % shared_size)
        if (shared[at] <= rows.used() && std::memcmp(&rows[shared[at] - 1], &row, sizeof row) == 0)
            return static_cast<std::uint16_t>(shared[at] - 1);
    const std::uint32_t last = rows.capacity() - 1;
    if (rows.used() >= last) {
        rows.lose(1);
        if (rows.used() > last) return static_cast<std::uint16_t>(last);
        rows[last] = {};
        rows[last].shape = not_known;
        return static_cast<std::uint16_t>(rows.publish());
    }
    rows[rows.used()] = row;
    shared[at] = rows.used() + 1;
    return static_cast<std::uint16_t>(rows.publish());
}

[[gnu::noinline]] DatatypeView flatten(Word handle) {
    DatatypeView view;
    const TypeLayout layout = layout_of(handle);
    if (layout.bytes < 0) return view;
    const layout::Datatype row = row_of(layout);
    view.bytes = row.bytes;
    view.extent_bytes = row.extent_bytes;
    view.has_gaps = row.shape != one_piece;
    if (view.has_gaps) view.row = keep_row(row);
    keep(handle, view);
    return view;
}

}  // namespace

DatatypeView view_datatype(Word word) {
    const Word handle = library().handle(word);
    if (const Known* const here = find(handle)) return here->view;
    if (handle == empty || handle == gone || handle == library().handle(library().datatype_null)) {
        DatatypeView none;
        none.bytes = 0;
        return none;
    }
    return flatten(handle);
}

void datatype_freed(Word word) {
    const Guard guard(lock);
    if (!guard.held()) return;
    if (const Known* const here = find(library().handle(word)))
        known[here - known].handle.store(gone, std::memory_order_release);
}

}  // namespace slowpath::watch
