// SPDX-License-Identifier: Apache-2.0
/// The engine's readers, and what must hold for whatever they are given.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutation.hpp"

namespace slowpath::fuzz {

/// A reader took what it must not take, or read it wrongly.
struct Defect : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Target {
    std::string_view name;
    std::vector<std::string> (*seeds)();
    /// An input of this target: `mutated`, or more.
    std::string (*input)(const std::vector<std::string>& seeds, Random& random);
    /// @return whether the reader took the input.  @throws Defect.
    bool (*read)(const std::vector<std::string>& seeds, const std::string& input);
};

const std::vector<Target>& targets();

}  // namespace slowpath::fuzz
