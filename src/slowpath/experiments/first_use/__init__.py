# SPDX-License-Identifier: Apache-2.0
"""The experiment `first_use`: what the first use of a part of MPI costs, and the later ones."""
