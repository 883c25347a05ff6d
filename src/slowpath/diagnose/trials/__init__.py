# SPDX-License-Identifier: Apache-2.0
"""Trials of single remedies in interleaved pairs: their campaign, their verdict, what it makes of a finding. Pure."""
