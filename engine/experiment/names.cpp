// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "experiment/experiment.hpp"

namespace slowpath {

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
