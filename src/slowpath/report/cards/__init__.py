# SPDX-License-Identifier: Apache-2.0
"""A finding as one card: what to do, one picture, three marks, lines to copy, and the rest behind a fold."""
