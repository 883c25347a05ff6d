// SPDX-License-Identifier: Apache-2.0
/* A library with MPI's names and an interface of its own. The program is linked with -DMORE and run without.
 */
int MPI_Init(int* count, char*** arguments) {
    (void)count, (void)arguments;
    return 0;
}
int PMPI_Init(int* count, char*** arguments) {
    return MPI_Init(count, arguments);
}
int MPI_Finalize(void) {
    return 0;
}
#ifdef MORE
int MPI_Buffer_flush(void) {
    return 0;
}
#endif
