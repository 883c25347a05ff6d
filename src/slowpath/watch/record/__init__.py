# SPDX-License-Identifier: Apache-2.0
"""What the watched ranks of a program left: NAME.watch files (schema/watch.json), read to numpy arrays."""
