// SPDX-License-Identifier: Apache-2.0
#include "catalogue/registry.hpp"

#include <array>

#include "cannon/cannon.hpp"
#include "coll/coll.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "first_use/first_use.hpp"
#include "nodes/nodes.hpp"
#include "p2p/p2p.hpp"
#include "put/put.hpp"

namespace slowpath {
namespace {

const std::array<const Experiment*, 6> all{
    &p2p::experiment,   &coll::experiment, &first_use::experiment,
    &nodes::experiment, &put::experiment,  &cannon::experiment,
};

}  // namespace

std::span<const Experiment* const> experiments() {
    return all;
}

const Experiment& find_experiment(std::string_view name) {
    std::vector<std::string_view> names{"check", "describe"};
    for (const Experiment* const experiment : all) {
        if (experiment->name == name) return *experiment;
        names.push_back(experiment->name);
    }
    throw UsageError("unknown experiment '" + std::string(name) + "'" + suggestion(name, names));
}

}  // namespace slowpath
