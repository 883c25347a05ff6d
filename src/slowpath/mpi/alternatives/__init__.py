# SPDX-License-Identifier: Apache-2.0
"""What each library chooses by itself, and how to make it choose otherwise: one row each, one file a library."""
