# SPDX-License-Identifier: Apache-2.0
"""Algorithms of collectives by library: how one is forced, and the files that choose by ranks and length."""
