// SPDX-License-Identifier: Apache-2.0
#include "first_use/use.hpp"

namespace slowpath::first_use {

void Use::judge(std::int64_t compared, std::int64_t wrong, const std::string& what) {
    compared_bytes += compared;
    wrong_bytes += wrong;
    if (wrong > 0 && !first_wrong)
        first_wrong =
            "wrong payload: " + std::to_string(wrong) + " of " + std::to_string(compared) + " " + what;
}

}  // namespace slowpath::first_use
