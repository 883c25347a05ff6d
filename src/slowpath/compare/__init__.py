# SPDX-License-Identifier: Apache-2.0
"""Runs against runs (docs/reference/compare.md): two of them, one against a baseline, and all of a folder over time."""
