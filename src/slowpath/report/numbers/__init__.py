# SPDX-License-Identifier: Apache-2.0
"""Plain tables of numbers: in the format of the OSU Micro-Benchmarks, and of all cells."""
