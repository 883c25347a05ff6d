# SPDX-License-Identifier: Apache-2.0
"""Faults done to real runs, and what must be left afterwards (docs/results/faults.md)."""
