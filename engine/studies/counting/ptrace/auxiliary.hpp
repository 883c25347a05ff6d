// SPDX-License-Identifier: Apache-2.0
/// What the kernel and the dynamic linker report of a process's start: getauxval(3), link.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "counting/ptrace/memory.hpp"

namespace slowpath::counting::ptrace {

/// First instruction of the program itself: by then the libraries that it is linked with are loaded.
std::optional<std::uint64_t> entry_of(pid_t process);

/// The function that the dynamic linker calls when its list of libraries changes; nullopt: linked statically.
std::optional<std::uint64_t> libraries_changed_function(pid_t process, const Memory& memory);

/// The rank, as the launcher states it in the environment.
std::optional<std::string> rank_of(pid_t process);

/// The process that a thread belongs to.
pid_t process_of(pid_t thread);

}  // namespace slowpath::counting::ptrace
