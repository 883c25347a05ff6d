# SPDX-License-Identifier: Apache-2.0
"""The report of a watched program: page, text and CSV from its typed results. Nothing is judged here."""
