// SPDX-License-Identifier: Apache-2.0
#include "layers/registry.hpp"

#include <vector>

#include "layers/ladder.hpp"

namespace slowpath::layers {

std::span<const Design> designs() {
    static const std::vector<Design> all = [] {
        std::vector<Design> list;
        for (const auto part : {called_designs(), inlined_designs(), limit_designs(), ladder_designs()})
            list.insert(list.end(), part.begin(), part.end());
        return list;
    }();
    return all;
}

}  // namespace slowpath::layers
