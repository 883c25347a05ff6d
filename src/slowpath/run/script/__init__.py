# SPDX-License-Identifier: Apache-2.0
"""Job scripts for batch systems, as text."""
