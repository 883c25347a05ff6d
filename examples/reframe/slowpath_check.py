# SPDX-License-Identifier: Apache-2.0
"""A base class for ReFrame checks that run a campaign, and an example: reframe -c examples/reframe -r

Performance values come from results.json, never from printed text: each cell's metrics, named by label, metric and
phase. Sanity first: the run is complete, every cell that was measured has its bytes right. Written for ReFrame 4.
"""

# ruff: noqa: RUF012
# ReFrame's fields are lists by design; each check gets its own copy.
import json
import os
import re

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, variable

FOLDER = "slowpath-run"


def performance_name(label, metric, phase):
    """What ReFrame takes as a name: letters, digits and underscores."""
    return re.sub(r"\W+", "_", f"{metric}_{phase}_{label}").strip("_")


class SlowpathCheck(rfm.RunOnlyRegressionTest):
    """Runs one campaign. Subclasses set `campaign`, systems and environments, and references by name if they have any.

    Slowpath starts MPI itself, once a launch, inside the allocation that ReFrame asks for. So ReFrame starts one
    process, whatever launcher the partition has.
    """

    #: A shipped campaign, or a TOML file in the check's `sourcesdir`.
    campaign = variable(str, value="checkup")
    #: More options of `slowpath run`.
    options = variable(list, value=[])
    #: Run folder or results.json on the same machine: fail when `slowpath gate` sees a regression against it.
    baseline = variable(str, value="")
    #: Fail when the verdict names a slow path; without it, slow paths are results like any other.
    fail_on_slow_path = variable(bool, value=False)

    executable = "slowpath"
    sourcesdir = None
    num_tasks = 2
    num_tasks_per_node = 2
    # ReFrame's default of no limit would hide a hang; `slowpath run` has one for each launch.
    time_limit = "30m"

    @run_before("run")
    def set_command(self):
        """The whole command line; no launcher of ReFrame's before it."""
        self.executable_opts = ["run", self.campaign, "--out", FOLDER, "--quiet", *self.options]
        if self.baseline:
            self.postrun_cmds = [f"slowpath gate {FOLDER} --baseline {self.baseline} --undecided pass"]
        self.job.launcher.options = []
        self.job.launcher.command = lambda job: []
        self.keep_files = [f"{FOLDER}/report.html", f"{FOLDER}/results.json"]

    def results(self):
        """results.json of the run; ReFrame reads it in the stage folder."""
        with open(os.path.join(self.stagedir, FOLDER, "results.json"), encoding="utf-8") as file:
            return json.load(file)

    @sanity_function
    def is_complete_and_right(self):
        """Complete, something was measured, and no message arrived with wrong bytes."""
        results = self.results()
        wrong = [cell["label"] for cell in results["cells"] if cell["wrong_bytes"]]
        measured = sum(cell["status"] in ("ok", "partial") for cell in results["cells"])
        slow = [line["text"] for line in results["verdict"]["lines"] if line["level"] == "slow"]
        return sn.all(
            [
                sn.assert_eq(self.job.exitcode, 0, "slowpath run or gate ended with {0}, not {1}"),
                sn.assert_eq(results["run"]["status"], "complete", "the run is {0}, not {1}"),
                sn.assert_eq(wrong, [], "wrong bytes in {0}"),
                sn.assert_gt(measured, 0, "none of the cells could be measured"),
                sn.assert_eq(slow if self.fail_on_slow_path else [], [], "slow paths: {0}"),
            ]
        )

    @run_before("performance")
    def read_performance(self):
        """One value for each cell, metric and phase, unrounded."""
        for cell in self.results()["cells"]:
            for metric, entry in cell["metrics"].items():
                for phase, estimate in entry["phases"].items():
                    name = performance_name(cell["label"], metric, phase)
                    self.perf_variables[name] = sn.make_performance_function(sn.defer(estimate["value"]), entry["unit"])

    @performance_function("s")
    def wall(self):
        """How long the run took."""
        return self.results()["run"]["wall_s"]


@rfm.simple_test
class SlowpathTinyCheck(SlowpathCheck):
    """The example: a campaign of a few seconds on two ranks of whatever system ReFrame runs on."""

    descr = "Latency of small messages"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = "campaigns"
    campaign = "tiny.toml"
    time_limit = "10m"
