# SPDX-License-Identifier: Apache-2.0
"""A ReFrame check that fails on a slow or silent node: reframe -c examples/reframe/slowpath_nodes.py -r

The verdict is read from verdict.json, never from printed text. Written for ReFrame 4.
"""

# ruff: noqa: RUF012
# ReFrame's fields are lists by design; each check gets its own copy.
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable

FOLDER = "slowpath-nodes"


@rfm.simple_test
class SlowNodes(rfm.RunOnlyRegressionTest):
    """Compares the nodes of an allocation. Slowpath starts MPI itself, so ReFrame starts one process."""

    #: Nodes to ask for; the more, the better each one can be compared.
    num_nodes = variable(int, value=4)
    #: A node or link that is slower by this ratio fails the check.
    fail_above = variable(float, value=1.2)

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "slowpath"
    sourcesdir = None
    num_tasks_per_node = 1
    time_limit = "30m"

    @run_before("run")
    def set_command(self):
        """The whole command line; no launcher of ReFrame's before it."""
        self.num_tasks = self.num_nodes
        self.executable_opts = ["nodes", "--out", FOLDER, "--quiet"]
        self.job.launcher.options = []
        self.job.launcher.command = lambda job: []
        self.keep_files = [f"{FOLDER}/verdict.json"]

    @sanity_function
    def no_node_is_slow(self):
        """Nodes were compared, all answered, and none is slower than `fail_above` beyond doubt."""
        with open(os.path.join(self.stagedir, FOLDER, "verdict.json"), encoding="utf-8") as file:
            verdict = json.load(file)
        slow = [
            found
            for found in [*verdict["nodes"], *verdict["links"]]
            if any(one["interval"][0] >= self.fail_above for one in found["slow"])
        ]
        return sn.all(
            [
                sn.assert_ge(verdict["compared"], 2),
                sn.assert_eq(list(verdict["silent"]), [], msg="nodes that do not answer: {0}"),
                sn.assert_eq(slow, [], msg="slow: {0}"),
            ]
        )
