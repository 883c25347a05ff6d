// SPDX-License-Identifier: Apache-2.0
#include "ipc/process_description.hpp"

#include <unistd.h>

#include <array>

#include "core/calibration.hpp"
#include "core/clock.hpp"
#include "core/json.hpp"
#include "record/witness.hpp"

namespace slowpath::ipc {

std::string describe_process(std::uint32_t rank) {
    MonotonicClock clock;
    const Calibration calibration = calibrate(clock);
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host = {"unknown host"};
    JsonObject about_clock;
    about_clock.integer("quantum_ns", calibration.quantum_ns)
        .integer("overhead_ns", calibration.overhead_ns)
        .integer("max_gap_ns", calibration.max_gap_ns)
        .integer("getres_ns", claimed_resolution_ns())
        .text("source", clock_source());
    JsonObject description;
    description.integer("rank", rank).text("host", host.data()).integer("pid", getpid());
    return description.integer("cpu", read_witness().cpu).raw("clock", about_clock.str()).str();
}

}  // namespace slowpath::ipc
