# SPDX-License-Identifier: Apache-2.0
"""A survey over many ranks: where they go, what is measured with them, what it costs, what is left out."""
