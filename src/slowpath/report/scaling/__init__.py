# SPDX-License-Identifier: Apache-2.0
"""Counts of collectives over the number of ranks."""
