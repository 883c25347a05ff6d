// SPDX-License-Identifier: Apache-2.0
#include "counting/preload/settings.hpp"

#include <cstdlib>

#include "counting/rank.hpp"

namespace slowpath::counting::preload {
namespace {

constinit Settings known{};

/// The variable's number; `otherwise` where it has none.  slowpath count has checked what it sets.
std::uint64_t number(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text < '0' || *text > '9') return otherwise;
    return std::strtoull(text, nullptr, 10);
}

}  // namespace

const Settings& settings() {
    return known;
}

bool read_settings() {
    known.function = std::getenv("SLOWPATH_COUNT_CALL");
    known.folder = std::getenv("SLOWPATH_COUNT_FOLDER");
    known.calls = number("SLOWPATH_COUNT_CALLS", known.calls);
    known.skip = number("SLOWPATH_COUNT_SKIP", known.skip);
    known.most = number("SLOWPATH_COUNT_MOST", known.most);
    for (const char* const variable : rank_variables)
        if (known.rank == nullptr) known.rank = std::getenv(variable);
    return known.function != nullptr && *known.function != '\0' && known.folder != nullptr && known.calls > 0;
}

}  // namespace slowpath::counting::preload
