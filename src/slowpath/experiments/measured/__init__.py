# SPDX-License-Identifier: Apache-2.0
"""From blocks to what stands for each launch: series, reductions, estimates."""
