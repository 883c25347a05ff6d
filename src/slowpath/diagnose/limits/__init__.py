# SPDX-License-Identifier: Apache-2.0
"""Limits of laws: where times break, to the byte, and which variable of the library sets the place. Pure."""
