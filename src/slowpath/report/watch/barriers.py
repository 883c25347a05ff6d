# SPDX-License-Identifier: Apache-2.0
"""Collectives that all wait for all in: by these and by messages the clocks of hosts are joined."""

from __future__ import annotations

import numpy as np

from slowpath.analyse.watch.events import Events, World
from slowpath.analyse.watch.match import Collectives, collectives
