// SPDX-License-Identifier: Apache-2.0
/// What programs look up by name at run time.
#pragma once

#include "watch/originals.hpp"

namespace slowpath::watch {

/// The exported function.
void* wrapper_of(Prefix prefix, Call call);

/// How often dlsym gave the program this call.
std::uint32_t times_found_by_dlsym(Call call);

/// Whether dlsym's answer is of the part that knows GPU memory: a function that makes some, or hands such
/// functions out.
/// @param caller Return address of the program's dlsym.
bool is_for_gpu(void* handle, const char* name, const void* caller);
void* find_for_gpu(void* handle, const char* name, const void* caller);

}  // namespace slowpath::watch
