// SPDX-License-Identifier: Apache-2.0
/// Searches of the dynamic loader that this library's own symbols do not answer.
#pragma once

namespace slowpath::watch {

/// The dlsym of the C library.
using Dlsym = void* (*)(void* handle, const char* name);
Dlsym real_dlsym();

/// The next definition after this library's; nullptr: there is none.
void* next_definition(const char* name);

/// True for the path by which the loader knows this library.
bool is_this_library(const char* path);

}  // namespace slowpath::watch
