# SPDX-License-Identifier: Apache-2.0
"""What is known of MPI libraries: which are here, their launchers, allocations and settings."""
