# SPDX-License-Identifier: Apache-2.0
"""What can be measured: a room for each experiment, and how blocks become numbers (measured/)."""
