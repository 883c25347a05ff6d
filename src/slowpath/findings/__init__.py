# SPDX-License-Identifier: Apache-2.0
"""From contrasts and sweeps to named slow paths: rules, their evidence and what helps (docs/reference/findings.md)."""
