# SPDX-License-Identifier: Apache-2.0
"""Slow paths by family: everything about one of them is in its own module."""
