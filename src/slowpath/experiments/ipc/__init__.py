# SPDX-License-Identifier: Apache-2.0
"""What slowpath-ipc measures: sharing GPU memory between processes."""
