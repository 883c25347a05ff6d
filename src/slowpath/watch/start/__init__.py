# SPDX-License-Identifier: Apache-2.0
"""One run of the user's own program under the preloaded library that watches its MPI calls."""
