// SPDX-License-Identifier: Apache-2.0
/// Searches of the dynamic loader that this library's own symbols do not answer.
#pragma once

namespace slowpath::watch {

/// The dlsym of the C library.
using Dlsym = void* (*)(void* handle, const char* name);
Dlsym real_dlsym();

/// The next definition after this library's; nullptr, with a text in dlerror: there is none.
void* next_definition(const char* name);

/// What the code at `caller` would find under this name without this library; nullptr: nothing.
void* visible_original(const char* name, const void* caller);

/// The same in any library: a caller that left by a jump is not known.
void* find_anywhere(const char* name);

/// True for code of UCX's memory hooks (libucm): it rewrites the first instructions of what it finds, so it
/// must find the driver's own function. Given a wrapper UCX goes without its caches, and each message took
/// 150 us instead of 13 (H200, UCX 1.22).
bool patches_code(const void* caller);

/// Whether this library has it.
bool is_in_this_library(const void* address);

/// True for the path by which the loader knows this library.
bool is_this_library(const char* path);

}  // namespace slowpath::watch
