# SPDX-License-Identifier: Apache-2.0
"""Timelines of all ranks as OTF2 and Perfetto files."""
