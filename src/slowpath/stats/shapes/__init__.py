# SPDX-License-Identifier: Apache-2.0
"""Shapes of time: what the order of samples and of launches shows, which medians hide. Pure."""
