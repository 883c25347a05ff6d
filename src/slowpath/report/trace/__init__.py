# SPDX-License-Identifier: Apache-2.0
"""What every rank did when, for the viewers of the field: the record's intervals as OTF2 and Perfetto files."""
