# SPDX-License-Identifier: Apache-2.0
"""Which of the user's own settings make messages slower."""
