# SPDX-License-Identifier: Apache-2.0
"""The experiment p2p: two-sided messages."""
