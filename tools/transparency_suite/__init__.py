# SPDX-License-Identifier: Apache-2.0
"""Programs run natively, watched, with their collectives replaced, and both: tools/transparency, tests/transparency."""
