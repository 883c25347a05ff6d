# SPDX-License-Identifier: Apache-2.0
"""The engine: compiled for the MPI in use, kept in a cache."""
