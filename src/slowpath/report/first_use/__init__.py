# SPDX-License-Identifier: Apache-2.0
"""The section of the report on first uses."""
