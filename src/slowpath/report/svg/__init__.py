# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG: geometry without statistics. Colours come from the page's CSS, which handles dark mode."""
