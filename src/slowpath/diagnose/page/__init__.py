# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as text and as a page. Pure, but for `files`."""
