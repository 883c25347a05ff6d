# SPDX-License-Identifier: Apache-2.0
"""`slowpath diagnose`: broad and cheap first, then where the evidence is (docs/reference/diagnose.md)."""
