# SPDX-License-Identifier: Apache-2.0
"""Computes the facts that rules look at (findings/evidence) out of results.json."""
