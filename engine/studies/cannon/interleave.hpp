// SPDX-License-Identifier: Apache-2.0
/// The order in which variants are measured, interleaved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace slowpath::cannon {

/// repeat(contestant, number) for each of them in each repetition, another one first each time, so that none
/// always follows the same one.  Warm-ups come first, with numbers below 0.
/// @param contestants A random-access range of pointers.
template <class Contestants, class Repeat>
void interleave(const Contestants& contestants, std::int64_t warmups, std::int64_t repetitions,
                Repeat&& repeat) {
    const auto count = static_cast<std::int64_t>(contestants.size());
    for (std::int64_t number = -warmups; number < repetitions; ++number)
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t turn = (i + std::max<std::int64_t>(number, 0)) % count;
            repeat(*contestants[static_cast<std::size_t>(turn)], number);
        }
}

}  // namespace slowpath::cannon
