# SPDX-License-Identifier: Apache-2.0
"""python -m slowpath.cli"""

from slowpath.cli.start import main

main()
