# SPDX-License-Identifier: Apache-2.0
"""Collectives compared with equivalents built from other calls."""
