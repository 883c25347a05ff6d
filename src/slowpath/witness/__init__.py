# SPDX-License-Identifier: Apache-2.0
"""Witnessed launches: what a library does, counted beside the times and never in them (docs/witnesses.md)."""
