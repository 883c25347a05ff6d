# SPDX-License-Identifier: Apache-2.0
"""Laws: time as a function of a swept quantity, per launch, with its runner-up (docs/internals/statistics.md). Pure."""
