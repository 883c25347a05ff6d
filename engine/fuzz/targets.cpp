// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"

namespace slowpath::fuzz {

std::span<const Target> targets() {
    static constexpr Target all[] = {
        {"engine-arguments", read_arguments}, {"engine-block", read_block}, {"engine-plan", read_plan},
        {"engine-proc", read_proc_text},      {"engine-ranks", read_ranks}, {"engine-smaps", read_smaps},
#ifdef SLOWPATH_HAVE_MPI
        {"engine-tuning", read_tuning_table},
#endif
        {"engine-values", read_values},
    };
    return all;
}

}  // namespace slowpath::fuzz
