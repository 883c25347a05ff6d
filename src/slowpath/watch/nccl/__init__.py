# SPDX-License-Identifier: Apache-2.0
"""NCCL calls of a watched program: the records of NCCL's profiler interface, their analysis, and its words."""
