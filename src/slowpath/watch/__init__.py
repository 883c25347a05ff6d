# SPDX-License-Identifier: Apache-2.0
"""A watched program: from its record to what it loses, and what would be saved."""
