# SPDX-License-Identifier: Apache-2.0
"""The version of Slowpath, where every part may read it."""

__version__ = "0.1.0"
