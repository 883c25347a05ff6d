# SPDX-License-Identifier: Apache-2.0
"""Puts in the report."""
