// SPDX-License-Identifier: Apache-2.0
/// Functions in assembly whose instructions known.S counts.
#pragma once

#include <cstddef>

extern "C" {
void known_nothing();
void known_ten();
void known_copy(void* to, const void* from);
void known_copy_nothing(void* to, const void* from);
void known_loop(int times);
long known_system_call();
long known_mask(int how, const void* set, void* old, std::size_t set_bytes);
void known_nested();
void known_alias();
void known_recursion(int depth);
}
