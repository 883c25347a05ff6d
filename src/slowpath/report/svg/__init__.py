# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG: geometry only, no statistics. Colours come from the page's CSS, so dark mode is free."""
