// SPDX-License-Identifier: Apache-2.0
#include "experiments/registry.hpp"

#include <array>

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "experiments/cannon/cannon.hpp"
#include "experiments/p2p/p2p.hpp"
#include "experiments/put/put.hpp"

namespace slowpath {
namespace {

const std::array<const Experiment*, 3> all{
    &p2p::experiment,
    &put::experiment,
    &cannon::experiment,
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

const char* name(Better better) {
    return better == Better::higher ? "higher" : "lower";
}

const char* name(Status status) {
    switch (status) {
        case Status::ok:
            return "ok";
        case Status::skipped:
            return "skipped";
        case Status::failed:
            return "failed";
    }
    throw std::logic_error("unnamed status");
}

}  // namespace slowpath
