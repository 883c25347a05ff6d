// SPDX-License-Identifier: Apache-2.0
#include "shell/witnessing.hpp"

#include <span>

#include "record/writer.hpp"

namespace slowpath {

Witnessing::Witnessing(bool witnessed, const std::string& folder)
    : folder_(folder), tools_(witnessed ? std::make_unique<mpi::Tools>() : nullptr) {}

void Witnessing::begin() {
    if (!tools_) return;
    write("control_variables.json", tools_->control_variables());
    tools_->start_performance_variables();
}

void Witnessing::end() {
    if (!tools_) return;
    write("performance_variables.json", tools_->performance_variables());
    tools_.reset();  // before MPI_Finalize: handles may be bound to MPI_COMM_WORLD
}

void Witnessing::write(const char* name, const std::string& text) const {
    AppendFile(folder_ + "/" + name).append(std::as_bytes(std::span(text)));
}

}  // namespace slowpath
