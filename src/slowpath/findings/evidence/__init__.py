# SPDX-License-Identifier: Apache-2.0
"""What rules share: the facts that they may look at, how facts become observations, and the words for them."""
