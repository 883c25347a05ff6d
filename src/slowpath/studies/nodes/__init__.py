# SPDX-License-Identifier: Apache-2.0
"""`slowpath nodes`: which node or link of an allocation is slow.

`schedule` (what is measured), `observed` (values by node and pair), `infer`, `confirm` (what they show) and
`verdict_text` (in words) are pure; `measure` and `steps` start launches and keep the folder.
"""
