# SPDX-License-Identifier: Apache-2.0
"""Slow paths planted in examples/halo by its switches, and how near what is said of them comes: tools/watch-plants."""
