# SPDX-License-Identifier: Apache-2.0
"""Instructions of one function's calls in a program that can't be changed: start it, read what was counted, show it."""
