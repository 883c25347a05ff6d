# SPDX-License-Identifier: Apache-2.0
"""Cannon in the report."""
