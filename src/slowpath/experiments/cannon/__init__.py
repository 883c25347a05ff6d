# SPDX-License-Identifier: Apache-2.0
"""The experiment cannon: a distributed multiplication in many communication styles."""
