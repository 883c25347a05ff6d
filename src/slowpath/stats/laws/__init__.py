# SPDX-License-Identifier: Apache-2.0
"""Laws: time as a function of a swept quantity, fitted per launch, with its runner-up (docs/laws.md). Pure."""
