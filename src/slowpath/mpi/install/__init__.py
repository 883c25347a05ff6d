# SPDX-License-Identifier: Apache-2.0
"""`slowpath mpi install`: a CUDA-aware MPI put together from packages (docs/how-to/gpu-mpi.md)."""
