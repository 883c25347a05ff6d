# SPDX-License-Identifier: Apache-2.0
"""Collectives next to what the library's other calls make of them."""
