# SPDX-License-Identifier: Apache-2.0
"""The messages of a watched program, measured as cells of the engine: what would each cost without its fault?"""
