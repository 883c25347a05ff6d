# SPDX-License-Identifier: Apache-2.0
"""The kinds of step that a diagnosis is made of, one file each; `registry` lists them, `order` has what goes first."""
