# SPDX-License-Identifier: Apache-2.0
"""Rules: from contrasts and sweeps to named slow paths, with the evidence for each. docs/findings.md."""
