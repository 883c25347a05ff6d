# SPDX-License-Identifier: Apache-2.0
"""Slowpath finds, explains and proves slow paths in MPI communication."""

__version__ = "0.1.0"
