// SPDX-License-Identifier: Apache-2.0
/* To be preloaded: wrappers of the calls of watch_calls.c that do nothing but call on. */
#include <mpi.h>

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
    return PMPI_Comm_rank(comm, rank);
}
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return PMPI_Test(request, flag, status);
}
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    return PMPI_Iprobe(source, tag, comm, flag, status);
}
int MPI_Send(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    return PMPI_Send(data, count, type, peer, tag, comm);
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status* status) {
    return PMPI_Recv(data, count, type, peer, tag, comm, status);
}
int MPI_Sendrecv(const void* out, int sent, MPI_Datatype sent_type, int to, int sent_tag, void* in,
                 int received, MPI_Datatype received_type, int from, int received_tag, MPI_Comm comm,
                 MPI_Status* status) {
    return PMPI_Sendrecv(out, sent, sent_type, to, sent_tag, in, received, received_type, from, received_tag,
                         comm, status);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return PMPI_Isend(data, count, type, peer, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
    return PMPI_Irecv(data, count, type, peer, tag, comm, request);
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return PMPI_Wait(request, status);
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    return PMPI_Waitall(count, requests, statuses);
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
    return PMPI_Allreduce(in, out, count, type, operation, comm);
}
