// SPDX-License-Identifier: Apache-2.0
/// Whether ranks read one CLOCK_MONOTONIC: those of one node, and those of containers of one machine.
#pragma once

#include <mpi.h>

namespace slowpath::mpi {

/// Collective.  True where all ranks name the same boot of the same kernel and the same time namespace
/// (time_namespaces(7)), and no message arrives before it was sent: a copied virtual machine has the boot's
/// name, too.
bool one_clock(MPI_Comm communicator);

}  // namespace slowpath::mpi
