# SPDX-License-Identifier: Apache-2.0
"""What every other part speaks in: errors, units, the plan, what an engine can do. Imports nothing of the rest."""
