// SPDX-License-Identifier: Apache-2.0
/// MPI functions that not every library with the same binary interface has: the engine refers to them weakly,
/// so that one program starts under old and new libraries, and asks the library that it met whether they are
/// there. The compiler must know them, which SLOWPATH_HAVE_... states.
#pragma once

#include <mpi.h>

#ifdef SLOWPATH_HAVE_MPI_COUNT
#pragma weak MPI_Send_c
#pragma weak MPI_Recv_c
#pragma weak MPI_Isend_c
#pragma weak MPI_Irecv_c
#pragma weak MPI_Mrecv_c
#pragma weak MPI_Send_init_c
#pragma weak MPI_Recv_init_c
#endif
#ifdef SLOWPATH_HAVE_RMA_COUNT
#pragma weak MPI_Put_c
#pragma weak MPI_Get_c
#pragma weak MPI_Accumulate_c
#pragma weak MPI_Rput_c
#endif
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
#pragma weak MPI_Psend_init
#pragma weak MPI_Precv_init
#pragma weak MPI_Pready
#pragma weak MPI_Pready_range
#endif

namespace slowpath::mpi {

/// Whether a function of this library has an address. Not compared in place: the compiler takes an address
/// for granted.
template <class Function>
bool is_there(Function* function) {
    Function* volatile const address = function;
    return address != nullptr;
}

}  // namespace slowpath::mpi
