# SPDX-License-Identifier: Apache-2.0
"""Slow paths by known laws, planted under a real MPI, and how many of them are named (docs/results/plants.md)."""
