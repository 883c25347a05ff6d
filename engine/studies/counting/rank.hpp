// SPDX-License-Identifier: Apache-2.0
/// Where launchers state the rank of a process.
#pragma once

namespace slowpath::counting {

/// Open MPI and PRRTE, PMI (MPICH, Intel MPI), PMIx, Slurm, PALS, Flux; the first that is set counts.
inline constexpr const char* rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",    "PMIX_RANK",
                                                 "SLURM_PROCID",         "PALS_RANKID", "FLUX_TASK_RANK"};

}  // namespace slowpath::counting
