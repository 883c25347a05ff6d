# SPDX-License-Identifier: Apache-2.0
"""Pictures of the cards that show findings."""
