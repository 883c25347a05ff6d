// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "watch/allocations.hpp"
#include "watch/clock.hpp"
#include "watch/events.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constexpr std::size_t pieces = 16, words = 8, piece_bytes = words * sizeof(std::uint64_t);

/// Parts of a message, which are compared with those of the next one of its row.
struct Look {
    const layout::Profile* row;  ///< nullptr: none
    std::uint64_t bytes, begin, step_bytes;
    std::uint64_t held[pieces][words];
};
constinit Look looks[64]{};
constinit std::uint32_t looked = 0, left_out = 0;
constinit std::uint64_t next_ticks = 0;

bool copy(const void* address, const Look& look, std::uint64_t (&into)[pieces][words]) {
    iovec there[pieces];
    const bool is_whole = look.bytes < sizeof into;
    const iovec here{into, is_whole ? look.bytes : sizeof into};
    for (std::size_t piece = 0; piece < pieces; ++piece)
        there[piece] = {static_cast<char*>(const_cast<void*>(address)) + look.begin + piece * look.step_bytes,
                        is_whole ? look.bytes : piece_bytes};
    const int error = errno;
    const bool is_copied = syscall(SYS_process_vm_readv, getpid(), &here, 1UL, there, is_whole ? 1UL : pieces,
                                   0UL) == static_cast<long>(here.iov_len);
    errno = error;
    return is_copied;
}

/// Whether it is numbers as people write them; a text may end with each, but small integers are mostly zeros.
bool is_text(const std::uint64_t (&piece)[words]) {
    constexpr char written[] = "0123456789+-.,;eE \t\r\n";
    const std::string_view text(reinterpret_cast<const char*>(piece), piece_bytes);
    return text.find_first_not_of({written, sizeof written}) == text.npos &&
           std::count(text.begin(), text.end(), '\0') <= 8;
}

/// Whether it is the turn of a message that is not compared.
bool is_due(const Lane& lane) {
    constexpr std::uint64_t pause_ns = 2'000'000;
    constexpr std::uint32_t all_of_first = 128, most_left_out = 4;
    const std::uint64_t now = lane.row->last_ticks;
    if (looked++ < all_of_first) return true;
    // Some are left out still, so that it is not always the first one after a pause.
    if (now < next_ticks || (left_out != 0 && left_out-- != 0)) return false;
    next_ticks = now + static_cast<std::uint64_t>(pause_ns / ns_per_tick);
    left_out = static_cast<std::uint32_t>(scatter(now) % most_left_out);
    return true;
}

}  // namespace

void look_into(Lane& lane, layout::Profile& row, const void* address, std::uint64_t bytes) {
    // Of one thread; memory of a GPU is left alone.
    const unsigned memory = row.buffer_class & 15U;
    if (lane.number != 0 || memory == kind::device || memory == kind::managed) return;
    Look& look = looks[static_cast<std::size_t>(&row - &lane.profile[0]) % std::size(looks)];
    const bool is_compared = look.row == &row && look.bytes == bytes;
    if (!is_compared) {
        if (!is_due(lane)) return;
        look.bytes = bytes;
        look.step_bytes = bytes / pieces / words * words;
        // Elsewhere each time: a table of which one value is set is not all zeros.
        const std::uint64_t spare_bytes = look.step_bytes < piece_bytes ? 0 : look.step_bytes - piece_bytes;
        look.begin = scatter(looked) % (spare_bytes + words) / words * words;
    }
    std::uint64_t now[pieces][words];
    look.row = copy(address, look, is_compared ? now : look.held) ? &row : nullptr;
    if (look.row != nullptr && bytes >= sizeof now)
        for (const auto& piece : is_compared ? now : look.held) row.text += is_text(piece);
    if (!is_compared || std::exchange(look.row, nullptr) == nullptr) return;
    row.looked += pieces;
    if (bytes < sizeof now) {
        constexpr std::uint64_t none[pieces][words]{};
        const bool is_again = std::memcmp(now, look.held, bytes) == 0 && std::memcmp(now, none, bytes) != 0;
        row.same += is_again ? pieces : 0;
        return;
    }
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        // What was set to one value and never written is no content.
        const bool is_uniform = std::memcmp(now[piece], now[piece] + 1, piece_bytes - sizeof now[0][0]) == 0;
        row.zero += is_uniform && now[piece][0] == 0;
        row.same += !is_uniform && std::memcmp(now[piece], look.held[piece], piece_bytes) == 0;
    }
}

}  // namespace slowpath::watch
