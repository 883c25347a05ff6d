// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "mockups/families.hpp"

namespace slowpath::mockups {

namespace {

constexpr std::span<const Mockup> (*families[])() = {
    of_barrier,  of_bcast,  of_gather,    of_scatter,        of_allgather,
    of_alltoall, of_reduce, of_allreduce, of_reduce_scatter, of_scan,
};

}  // namespace

std::span<const Mockup> mockups() {
    static const std::vector<Mockup> all = [] {
        std::vector<Mockup> listed;
        for (const auto family : families) {
            const auto these = family();
            listed.insert(listed.end(), these.begin(), these.end());
        }
        return listed;
    }();
    return all;
}

const Mockup* find(Collective collective, std::string_view name) {
    for (const Mockup& one : mockups())
        if (one.of == collective && one.name == name) return &one;
    return nullptr;
}

}  // namespace slowpath::mockups
