# SPDX-License-Identifier: Apache-2.0
"""Two watches, or several a side, against each other: bytes, calls and seconds by class."""
