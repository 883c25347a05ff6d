// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cannon/variants/all.hpp"

namespace slowpath::cannon {

std::span<const VariantKind> variants() {
    static const std::array all{compute_only,  sendrecv_replace, sendrecv,      isend_wait,
                                isend_test,    isend_test_apart, put_fence,     put_fence_two_windows,
                                pscw,          put_flag,         get_from_home, shared_copy,
                                shared_direct, dgemm_alone};
    return all;
}

}  // namespace slowpath::cannon
