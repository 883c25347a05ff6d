# SPDX-License-Identifier: Apache-2.0
"""Real programs from packages, unchanged, each run unwatched and watched: tools/watch-programs."""
