# SPDX-License-Identifier: Apache-2.0
"""The five accounts: what the time of a program in MPI is lost to."""
