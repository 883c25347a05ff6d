# SPDX-License-Identifier: Apache-2.0
"""A watched program without the program: what its ranks did, played under the real MPI, as it is and changed."""
