// SPDX-License-Identifier: Apache-2.0
/// The engine's readers of bytes from outside, and what must hold for whatever they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace slowpath::fuzz {

/// A reader accepted what it must not accept, or misread it.
struct Defect : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Input = std::span<const std::uint8_t>;

inline std::string text_of(Input input) {
    return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// One reader. `read` gives it the input and checks the result.  @throws Defect.
struct Target {
    std::string_view name;
    void (*read)(Input input);
};

std::span<const Target> targets();

// Texts (texts.cpp): what users, launchers and other ranks write.
void read_arguments(Input input);
void read_plan(Input input);
void read_ranks(Input input);
void read_tuning_table(Input input);
void read_values(Input input);

// Files (files.cpp): records, and what the kernel shows of a process.
void read_block(Input input);
void read_proc_text(Input input);
void read_smaps(Input input);

}  // namespace slowpath::fuzz
