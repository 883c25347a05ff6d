# SPDX-License-Identifier: Apache-2.0
"""The experiment `nccl`: MPI on device memory next to NCCL (docs/reference/gpu-libraries.md)."""
