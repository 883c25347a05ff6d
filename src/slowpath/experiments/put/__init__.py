# SPDX-License-Identifier: Apache-2.0
"""The experiment put: bursts of one-sided operations."""
