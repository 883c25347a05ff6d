# SPDX-License-Identifier: Apache-2.0
"""The report: results.json as HTML, text and CSV. Judged before, only rendered here.

figure: what pages are made of; draw: SVG; page: the one template. run_page, cards and cells fill a run's page, a module
for each study its section. text: for a terminal. csv, api: unrounded.
"""
