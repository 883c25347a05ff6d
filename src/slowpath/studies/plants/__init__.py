# SPDX-License-Identifier: Apache-2.0
"""Slow paths by drawn clauses, planted under a real MPI, and what is said of them (docs/results/plants.md)."""
