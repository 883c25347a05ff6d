# SPDX-License-Identifier: Apache-2.0
"""What helps against slow paths, per MPI library and version: what to copy and watch (docs/reference/remedies.md)."""
