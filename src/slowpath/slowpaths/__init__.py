# SPDX-License-Identifier: Apache-2.0
"""Slow paths: everything about one of them is in its own module."""
