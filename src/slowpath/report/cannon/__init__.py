# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm in the report."""
