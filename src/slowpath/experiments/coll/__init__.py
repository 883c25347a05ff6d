# SPDX-License-Identifier: Apache-2.0
"""The experiment coll: collectives, and what the library's other calls make of them."""
