# SPDX-License-Identifier: Apache-2.0
"""`slowpath tune`: the best way of each collective by length and ranks, proven in fresh launches, as files."""
