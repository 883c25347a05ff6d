# SPDX-License-Identifier: Apache-2.0
"""Comparisons of two runs, of a run with a baseline, and of many runs over time (docs/how-to/gate-in-ci.md)."""
