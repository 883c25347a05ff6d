# SPDX-License-Identifier: Apache-2.0
"""Proven remedies, all at once: which can be combined, the campaign that measures it, its verdict. Pure."""
