# SPDX-License-Identifier: Apache-2.0
"""What rules look at: contrasts by axis, sweeps with their laws, witnesses. Pure."""
