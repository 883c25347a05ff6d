# SPDX-License-Identifier: Apache-2.0
"""`slowpath diagnose`: begins broad and cheap, then spends its time where the evidence is (docs/diagnose.md)."""
