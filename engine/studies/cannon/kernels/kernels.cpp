// SPDX-License-Identifier: Apache-2.0
#include "cannon/kernels/kernels.hpp"

#include <array>

namespace slowpath::cannon {
namespace {

constexpr std::array all{
    Kernel{"blas", nullptr, ""},
    Kernel{"loop_O0", loop_O0, "-O0"},
    Kernel{"loop_O2", loop_O2, "-O2"},
    Kernel{"loop_O3", loop_O3, "-O3"},
    Kernel{"loop_native", loop_native, SLOWPATH_CANNON_FLAGS},
};

}  // namespace

std::span<const Kernel> kernels() {
    return all;
}

std::string_view compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown compiler";
#endif
}

}  // namespace slowpath::cannon
