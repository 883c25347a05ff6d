# SPDX-License-Identifier: Apache-2.0
"""From a finding to the byte, to the variable and to a proof: proposals and conclusions on planted findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slowpath.diagnose import attribute, conclude
from slowpath.diagnose.html import page
from slowpath.diagnose.judge import judge_trial
from slowpath.diagnose.known import Known, Library, Proposal
from slowpath.diagnose.pooled import with_earlier
from slowpath.diagnose.propose import proposals
from slowpath.diagnose.records import SCHEMA, Diagnosis, Step, read_diagnosis, write_diagnosis
from slowpath.diagnose.said import said
from slowpath.diagnose.text import render
from slowpath.mpi.switches import switches_of
from slowpath.stats.laws.found import Bracket

Json = dict[str, Any]
CMA = "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"
LIMIT = 50020
METRIC = "half_round_trip_latency_s"


def leg(state: str = "missing", text: str = "nothing yet") -> Json:
    return {"state": state, "text": text, "evidence": []}


def finding(rule: str = "SP013", excess_s: float = 2e-5, usual: bool | None = True, **changed: Any) -> Json:
    return {
        "id": f"{rule}:0",
        "rule": rule,
        "title": "a title",
        "text": "It is slow.",
        "about": "switch",
        "where": "host memory",
        "mpi": "mpich",
        "environment": "default",
        "placement": "bound",
        "status": "observed",
        "usual": usual,
        "ratio": 3.5,
        "interval": [3.4, 3.6],
        "excess_s": excess_s,
        "metric": METRIC,
        "phase": "steady",
        "law": None,
        "legs": {"observed": leg("shown"), "explained": leg(), "proven": leg()},
        "missing": ["explained: nothing yet", "proven: nothing yet"],
        "cause": None,
        "hypotheses": [],
        "contrasts": [],
        "cells": [0, 1],
        "slow_cells": [0],
        "fast_cells": [1],
        "merged": [],
        "doubts": [],
        "remedies": [],
        "next": [],
    } | changed


def law(*limits: tuple[float, float]) -> Json:
    brackets = [{"covariate": "message_bytes", "above": low, "up_to": high} for low, high in limits]
    return {"name": "segments", "coefficients": [], "brackets": brackets, "separating": [], "refused": None}


@pytest.fixture
def survey(description: Json) -> Json:
    """A slow cell just below the switch and a fast one behind it."""
    entry = next(one for one in description["experiments"] if one["name"] == "p2p")
    plain = {one["name"]: one["default"] for one in entry["parameters"]} | {"pattern": "ping_pong"}

    def cell(number: int, length: int, time_s: float) -> Json:
        estimate = {"value": time_s, "launch_values": [time_s] * 5, "samples": 50}
        return {
            "cell": number,
            "key": str(number),
            "group": "lengths",
            "experiment": "p2p",
            "environment": "default",
            "placement": "bound",
            "mpi": "mpich",
            "copy": 1,
            "parameters": plain | {"message_bytes": str(length)},
            "metrics": {METRIC: {"unit": "s", "phases": {"steady": estimate}}},
            "witness": None,
        }

    environments = [{"name": "default", "variables": {}, "unset": [], "setting": None, "mpi": None}]
    return {
        "run": {"environments": environments, "placements": [{"name": "bound", "bind": "core"}], "mpis": []},
        "cells": [cell(0, 49152, 27e-6), cell(1, 65536, 8e-6)],
        "contrasts": [],
    }


def known(findings: list[Json], survey: Json, steps: list[Step] | None = None, **environ: str) -> Known:
    done = [Step(0, "witness", "02-witness", "", 0.0), *(steps or [])]
    return Known(findings, done, survey, Library("mpich", "5.0.2", None), environ, 2)


def first(of: Known) -> Proposal:
    return next(proposals(of))


def times(values: list[float], limit: float, seed: int = 1) -> Json:
    """Results of lengths at which messages up to `limit` take the slow way."""
    generator = np.random.default_rng(seed)
    cells = []
    for value in values:
        mean = 27e-6 if value <= limit else 8e-6
        launches = mean * (1 + 0.02 * generator.standard_normal(6))
        estimate = {"value": mean, "launch_values": launches.tolist(), "samples": 60}
        metrics = {METRIC: {"unit": "s", "phases": {"steady": estimate}}}
        cells.append({"parameters": {"message_bytes": str(int(value))}, "metrics": metrics})
    return {"cells": cells}


def asked(proposal: Proposal) -> list[float]:
    return [float(value) for value in proposal.campaign.groups[0].parameters["message_bytes"]]


def test_a_switch_is_refined_attributed_and_then_tried(survey: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    start = finding(law=law((49152.0, 65536.0)))
    monkeypatch.setattr(conclude, "findings_of", lambda results: [start])
    environ = {CMA: str(LIMIT + 1)}
    measured = [(Step(1, "survey", "01-survey", "", 1.0), survey)]
    found = conclude.conclude(measured, [])
    kinds = []
    for number in range(2, 12):
        proposal = first(known(found, survey, [step for step, _ in measured], **environ))
        kinds.append(proposal.kind)
        if proposal.kind == "trial":
            break
        moved = LIMIT if proposal.kind == "refine" else proposal.about["foretold"]
        step = Step(number, proposal.kind, f"{number:02d}-{proposal.kind}", proposal.why, 1.0, proposal.about)
        measured.append((step, times(asked(proposal), moved, number)))
        before, found = found, conclude.conclude(measured, [])
        assert said(step, before, found)
    assert kinds[-2:] == ["attribute", "trial"]
    assert set(kinds[:-2]) == {"refine"}
    assert any("exact" in step.about for step, _ in measured)  # an exact limit is measured once more
    bracket = found[0]["law"]["brackets"][0]
    assert (bracket["above"], bracket["up_to"], bracket["attributed_to"]) == (LIMIT, LIMIT + 1, CMA)
    assert found[0]["status"] == "explained"
    assert found[0]["legs"]["explained"]["state"] == "shown"
    assert proposal.about["remedy"] == f"unset {CMA}"  # the user's own setting is taken away first
    assert proposal.campaign.groups[0].parameters["message_bytes"] == str(LIMIT)  # the slow side of the switch


@pytest.fixture
def octaves(survey: Json) -> Json:
    """A survey's line of lengths, in which no switch shows."""
    template = survey["cells"][0]
    lengths = [8 << i for i in range(20)]
    cells = [
        {**template, "cell": i, "parameters": {**template["parameters"], "message_bytes": str(length)}}
        for i, length in enumerate(lengths)
    ]
    return {**survey, "cells": cells}


def around_value(proposal: Proposal, octaves: Json, limit: float, number: int = 1) -> Json:
    """Results of a proposal's campaign, cells as a run has them."""
    template = octaves["cells"][0]
    measured = times(asked(proposal), limit, number)["cells"]
    cells = [
        {**template, **one, "cell": i, "parameters": {**template["parameters"], **one["parameters"]}}
        for i, one in enumerate(measured)
    ]
    return {**octaves, "cells": cells}


def test_a_variable_that_the_user_set_is_looked_at_where_no_limit_shows(
    octaves: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conclude, "findings_of", lambda results: [])
    measured = [(Step(1, "survey", "01-survey", "", 1.0), octaves)]
    environ = {CMA: str(LIMIT + 1)}
    proposal = first(known([], octaves, [], **environ))
    assert proposal.kind == "suspect"
    assert {LIMIT, LIMIT + 1} <= set(asked(proposal))
    step = Step(2, "suspect", "02-suspect", proposal.why, 1.0, proposal.about)
    results = around_value(proposal, octaves, LIMIT)
    found = conclude.conclude([*measured, (step, results)], [])
    assert [one["rule"] for one in found] == ["SP013"]
    assert "changes exactly after" in said(step, [], found)
    assert found[0]["usual"] is True
    assert found[0]["ratio"] == pytest.approx(27 / 8, rel=0.05)
    # What follows is as with any other switch: measured once more, then the variable is moved.
    of = Known(found, [Step(0, "witness", "w", "", 0.0), step], octaves, Library("mpich", "5.0.2", None), environ, 2,
               others={"02-suspect": results})  # fmt: skip
    again = first(of)
    assert (again.kind, again.about["exact"]) == ("refine", LIMIT)


def test_no_jump_at_the_variable_s_value_is_said_and_not_asked_again(
    octaves: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conclude, "findings_of", lambda results: [])
    proposal = first(known([], octaves, [], **{CMA: "50000"}))
    step = Step(2, "suspect", "02-suspect", proposal.why, 1.0, proposal.about)
    flat = around_value(proposal, octaves, 10**9)
    found = conclude.conclude([(Step(1, "survey", "01-survey", "", 1.0), octaves), (step, flat)], [])
    assert found == []
    assert said(step, [], found) == "no switch shows at 50000 B"
    assert not [one for one in proposals(known([], octaves, [step], **{CMA: "50000"})) if one.kind == "suspect"]
    near = finding(law=law((49000.0, 51000.0)))
    kinds = [one.kind for one in proposals(known([near], octaves, [], **{CMA: "50000"}))]
    assert "suspect" not in kinds
    assert not list(proposals(known([], octaves, [], **{CMA: "99999999"})))


def test_a_variable_that_moves_nothing_is_ruled_out(survey: Json) -> None:
    bracket = Bracket("message_bytes", float(LIMIT), float(LIMIT + 1))
    suspect = attribute.suspects(switches_of("mpich", "5.0.2"), LIMIT, {CMA: str(LIMIT + 1)}, {}, "mpich")[0]
    of = known([], survey)
    sides = conclude_sides(survey)
    about, campaign = attribute.design("SP013:0", suspect, bracket, sides, of.ranks, rising=False)
    about |= {"speaks": True, "set_by_user": False}
    assert about["moved"] < about["value"]  # lowered, so that the slow length below the switch gets fast
    lengths = [float(v) for v in campaign.groups[0].parameters["message_bytes"]]
    stayed = attribute.attribution(about, times(lengths, LIMIT))
    assert stayed is not None
    assert not stayed.moved
    changed = stayed.apply(finding(law=law((LIMIT, LIMIT + 1))))
    assert changed["remedies"][0]["verdict"] == "no effect"
    assert changed["legs"]["explained"]["state"] == "missing"
    gone = attribute.attribution(about, times(lengths, 10**9))
    assert gone is not None
    assert not gone.moved


def conclude_sides(survey: Json) -> Any:
    from slowpath.diagnose.sides import sides_of

    return sides_of(finding(), survey)


def test_suspects_are_near_and_the_library_s_own_word_goes_first() -> None:
    switches = switches_of("mpich", "5.0.2")
    told = attribute.suspects(switches, LIMIT, {}, {CMA: 50021.0, "FAR": 70000.0, "OTHER": 50000.0}, "mpich")
    assert [(one.switch.variable, one.told_by) for one in told] == [(CMA, "MPI_T"), ("OTHER", "MPI_T")]
    assert attribute.suspects(switches, 16383, {}, {}, "mpich")[0].told_by == "its documentation"
    assert attribute.suspects(switches, 1000, {}, {}, "mpich") == []
    open_mpi = attribute.suspects((), 4000, {}, {"btl_sm_eager_limit": 4096.0}, "openmpi")
    assert open_mpi[0].switch.variable == "OMPI_MCA_btl_sm_eager_limit"


def test_what_is_the_user_s_own_and_costs_most_goes_first(survey: Json) -> None:
    small = finding("SP008", 1e-6, id="SP008:a", law=None)
    large = finding("SP008", 1e-3, id="SP008:b", law=None)
    chosen = finding("SP008", 1.0, id="SP008:c", usual=False)
    survey["cells"][0]["parameters"]["pages"] = "small"
    order = [one.about["finding"] for one in proposals(known([small, chosen, large], survey))]
    assert order == ["SP008:b", "SP008:a", "SP008:c"]


def test_nothing_is_tried_twice_and_nothing_that_is_proven(survey: Json) -> None:
    survey["cells"][0]["parameters"]["pages"] = "small"
    one = finding("SP008")
    done = Step(3, "trial", "03-trial", "", 1.0, {"finding": one["id"], "remedy": "huge pages"})
    assert [p.kind for p in proposals(known([one], survey))] == ["trial"]
    assert list(proposals(known([one], survey, [done]))) == []
    assert list(proposals(known([one | {"status": "proven"}], survey))) == []


def noisy_trial(contrast_of: Callable[..., Json], seed: int, noise: float = 0.3) -> Json:
    contrasts = [
        contrast_of("remedy", 1e-3, 1.5e-3, 10, noise, seed),
        contrast_of("remedy again", 1e-3, 1.5e-3, 10, noise, seed + 100),
        contrast_of("a/a", 1.5e-3, 1.5e-3, 10, 0.01, seed),
        contrast_of("negative control", 1e-6, 1e-6, 10, noise, seed),
    ]
    return {"contrasts": contrasts, "run": {}}


def test_a_trial_that_noise_left_open_is_made_once_more_and_judged_by_all_pairs(
    survey: Json, contrast_of: Callable[..., Json]
) -> None:
    survey["cells"][0]["parameters"]["pages"] = "small"
    one = finding("SP008", law=None)
    plain = {"finding": one["id"], "remedy": "huge pages", "fast": None, "constant_s": None, "control": "it is short"}
    steps = [Step(number, "trial", f"{number:02d}-trial", "", 1.0, plain) for number in (3, 4)]
    first_results, second_results = noisy_trial(contrast_of, 1), noisy_trial(contrast_of, 2)
    of = known([one], survey, steps[:1])
    open_once = [p.kind for p in proposals(replace(of, others={"03-trial": first_results}))]
    assert open_once == ["trial"]
    clear = noisy_trial(contrast_of, 1, 0.01)
    assert list(proposals(replace(of, others={"03-trial": clear}))) == []  # decided
    both = replace(of, steps=[*of.steps, steps[1]], others={"03-trial": first_results, "04-trial": second_results})
    assert list(proposals(both)) == []  # twice is all
    joined = with_earlier(steps[1], second_results, [(steps[0], first_results), (steps[1], second_results)])
    assert judge_trial(plain, joined)["pairs"] == 20
    assert [one["launches"] for one in joined["contrasts"]] == [20] * 4
    other = Step(2, "trial", "02-trial", "", 1.0, plain | {"remedy": "another"})
    assert with_earlier(steps[1], second_results, [(other, first_results)]) == second_results


def test_a_witness_of_two_runs_counts_the_operations_of_both() -> None:
    def cell(time_s: float, operations: int, calls: Json | None = None) -> Json:
        role = {"system_time_s_per_op": time_s, "operations": operations, "involuntary_switches": 1}
        role |= {"calls": calls} if calls else {}
        return {"key": "k", "environment": "default", "witness": {"steady": {"send": None, "receive": role}}}

    def run(one: Json) -> Json:
        return {"cells": [one], "run": {"environments": [{"name": "default"}]}}

    counted = {"process_vm_readv": {"calls_per_op": 1.0}}
    both = conclude.with_witness(run(cell(4e-5, 50)), run(cell(11e-5, 20, counted)))
    role = both["cells"][0]["witness"]["steady"]["receive"]
    assert role["system_time_s_per_op"] == pytest.approx(6e-5)
    assert (role["operations"], role["involuntary_switches"], role["calls"]) == (70, 2, counted)


def test_a_trial_s_outcome_makes_a_finding_proven(
    survey: Json, monkeypatch: pytest.MonkeyPatch, contrast_of: Callable[..., Json]
) -> None:
    start = finding("SP008", remedies=[{"name": "huge pages", "verdict": "not tried", "side_effects": ["memory"]}])
    monkeypatch.setattr(conclude, "findings_of", lambda results: [start])
    contrasts = [
        contrast_of("remedy", 1e-3, 3e-3),
        contrast_of("remedy again", 1e-3, 3e-3, seed=2),
        contrast_of("negative control", 1e-6, 1e-6),
    ]
    about = {"finding": start["id"], "remedy": "huge pages", "constant_s": None, "control": "short"}
    steps = [
        (Step(1, "survey", "01-survey", "", 1.0), survey),
        (Step(2, "trial", "02-trial", "", 1.0, about), {"contrasts": contrasts, "run": {}}),
    ]
    found = conclude.conclude(steps, [])
    assert found[0]["status"] == "proven"
    assert found[0]["remedies"][0]["verdict"] == "proven"
    assert "memory" in found[0]["remedies"][0]["side_effects"]


def test_the_user_s_forced_state_is_named_as_one(monkeypatch: pytest.MonkeyPatch, survey: Json) -> None:
    seen = {}

    def rules(results: Json) -> list[Json]:
        seen.update({one["name"]: one for one in results["run"]["environments"]})
        return [finding("SP009", usual=False)]

    monkeypatch.setattr(conclude, "findings_of", rules)
    survey["run"]["environments"].append({"name": conclude.UNFORCED, "variables": {}, "unset": ["X"], "setting": None})
    forced = [{"state": "single_copy_off", "name": "X", "value": "0"}]
    found = conclude.conclude([(Step(1, "survey", "01-survey", "", 1.0), survey)], forced)
    assert seen["default"]["setting"] == "single_copy_off"
    assert seen[conclude.UNFORCED]["unset"] == []
    assert found[0]["usual"] is True
    assert "your environment sets X=0" in found[0]["text"]


def test_the_file_comes_back_and_text_and_page_hold_what_matters(tmp_path: Path) -> None:
    one = finding(law=law((LIMIT, LIMIT + 1)), remedies=[
        {"name": f"set {CMA}", "verdict": "proven", "reason": "it <moved>", "side_effects": [],
         "removed_ratio": {"value": 1.0, "interval": [0.9, 1.1]},
         "snippet": {"shell": f"export {CMA}=44519", "modulefile": None, "code": None}},
    ])  # fmt: skip
    made = Diagnosis(
        SCHEMA, "0", ["slowpath"], "now", 60.0, "mpich 5.0.2", "budget", None, 12.0, [],
        [Step(1, "survey", "01-survey", "where?", 1.0, {}, 2.0, "1 finding")], [one], ["more <of> it"],
    )  # fmt: skip
    write_diagnosis(tmp_path, made)
    assert read_diagnosis(tmp_path) == made
    text = render(made, "here")
    assert f"export {CMA}=44519" in text
    assert "removes 100% [90%, 110%]" in text
    assert "exactly" in text
    html = page(made)
    assert "it &lt;moved&gt;" in html
    assert "more &lt;of&gt; it" in html
    assert "http://" not in html
    assert "<script" not in html
