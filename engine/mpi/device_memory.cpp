// SPDX-License-Identifier: Apache-2.0
#include "mpi/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string_view>

namespace slowpath::mpi {
namespace {

constexpr const char* advice =
    "; take another (slowpath mpi install cuda), or if it does, SLOWPATH_MPI_TAKES_DEVICE=on";

bool says_yes() {
    auto* const query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
    return query != nullptr && query() == 1;
}

/// MPIX_Query_cuda_support speaks for Open MPI itself, not for the UCX below it: that of an Open MPI without
/// CUDA takes device memory when its module for CUDA is there.
bool ucx_knows_cuda() {
    const auto is_module = [](dl_phdr_info* info, std::size_t, void*) {
        return static_cast<int>(std::string_view(info->dlpi_name).find("libuct_cuda") !=
                                std::string_view::npos);
    };
    return dl_iterate_phdr(is_module, nullptr) != 0;
}

std::string_view override_of_user() {
    const char* const given = std::getenv("SLOWPATH_MPI_TAKES_DEVICE");
    return given == nullptr ? "" : given;
}

std::string turned_off() {
    return std::string("SLOWPATH_MPI_TAKES_DEVICE=off") + advice;
}

}  // namespace

std::optional<std::string> messages_refuse_device() {
    if (override_of_user() == "off") return turned_off();
    if (override_of_user() == "on" || says_yes() || ucx_knows_cuda()) return std::nullopt;
    return std::string("the MPI library does not say that it takes device memory") + advice;
}

}  // namespace slowpath::mpi
