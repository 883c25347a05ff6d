// SPDX-License-Identifier: Apache-2.0
#include "put/designs.hpp"

#include <vector>

#include "core/error.hpp"

namespace slowpath::put {
namespace {

const char* word(layers::Call call) {
    return call == layers::Call::library ? "library" : "inlined";
}

std::string spelt(const layers::Design& design) {
    return "call=" + std::string(word(design.call)) + " checks=" + (design.checked ? "on" : "off");
}

bool fits(const layers::Design& design, const Config& config) {
    return design.call == config.call && design.checked == config.checks;
}

}  // namespace

const layers::Design& find_layer_design(const Config& config) {
    std::vector<const layers::Design*> named;
    for (const layers::Design& design : layers::designs())
        if (design.name == config.design) named.push_back(&design);
    for (const layers::Design* const design : named)
        if (fits(*design, config)) return *design;
    const bool defaults = config.call == layers::Call::library && config.checks;
    if (named.size() == 1 && defaults) return *named.front();
    std::string there;
    for (const layers::Design* const design : named) there += (there.empty() ? "" : ", ") + spelt(*design);
    throw UsageError("design=" + config.design + " has no call=" + word(config.call) +
                     " checks=" + (config.checks ? "on" : "off") +
                     (there.empty() ? "; this engine was built without it" : "; it has: " + there));
}

bool stores_one_value(const Config& config) {
    return config.design == "store" || config.design == "unrolled_stores" || config.design == "fenced_store";
}

bool moves_data(const Config& config) {
    return !config.design.starts_with("empty_call");
}

}  // namespace slowpath::put
