# SPDX-License-Identifier: Apache-2.0
"""First uses of GPU libraries."""
