// SPDX-License-Identifier: Apache-2.0
/// Functions by name in the libraries that the dynamic linker has loaded.  Safe in signal handlers: nothing
/// is allocated or locked, so it is to be called where the linker's list is whole.
#pragma once

#include <link.h>

#include <cstdint>

namespace slowpath::counting::preload {

struct Definition {
    std::uint64_t address = 0;    ///< 0: the library does not define it
    bool chosen_at_load = false;  ///< STT_GNU_IFUNC: the address is that of the function that chooses
};

/// In the library's dynamic symbols (System V ABI, "Hash Table"; GNU's hash table where there is no other).
Definition find_exported(const link_map& library, const char* name);

/// In the symbol table of a program's file, which a program that links MPI statically has unless it is
/// stripped.
/// @param base Where the program is loaded.
Definition find_in_program(const char* path, std::uint64_t base, const char* name);

}  // namespace slowpath::counting::preload
