# SPDX-License-Identifier: Apache-2.0
"""Side studies: they use the main road, and nothing on it uses them."""
