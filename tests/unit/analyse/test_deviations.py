# SPDX-License-Identifier: Apache-2.0
"""Costs planted at random in a small panel: which times deviate, what they share, what it costs."""

import random
import re
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from slowpath.analyse.cells import estimate
from slowpath.analyse.deviations import Condition, Cost, Shared, _words, not_traits, shared, slow_rank
from slowpath.analyse.reference import (
    MEAN,
    THIS_KIND,
    HealthyRun,
    Item,
    Judged,
    Reference,
    decided,
    defaults_of,
    items,
    joined,
    references,
)
from slowpath.core.campaign import scalars
from slowpath.core.cell_results import CellResult
from slowpath.experiments.measured import MetricSamples, reduce
from slowpath.plan.campaign import load
from support.results import a_cell, a_metric, an_estimate

LENGTHS = (8, 64, 1024, 4096, 8192, 16384, 65536, 262144, 1048576)
COLLECTIVES = ("bcast", "allreduce", "alltoall", "gather", "scan")
CALLS = ("ssend", "comm_dup", "type_vector", "win_allocate")


def _traits() -> list[dict[str, str]]:
    """What the cells of the panel are."""
    sends = [{"experiment": "p2p", "pattern": "ping_pong", "message_bytes": str(n)} for n in LENGTHS]
    anys = [{"experiment": "p2p", "pattern": "one_way", "message_bytes": str(n), "source": "any"} for n in LENGTHS]
    colls = [
        {"experiment": "coll", "collective": name, "message_bytes": str(n)}
        for name in COLLECTIVES
        for n in LENGTHS[::2]
    ]
    calls = [{"experiment": "first_use", "pattern": "call", "call": name} for name in CALLS]
    return [
        {**parameters, "environment": "default", "placement": "bound", "phase": phase}
        for parameters in (*sends, *anys, *colls, *calls)
        for phase in ("first", "steady")
    ]


def _measured(draw: random.Random, extra_s=lambda traits: 0.0, speed: float = 1.0) -> list[Item]:
    """One run, with noise of some percent."""
    measured = []
    for number, traits in enumerate(_traits()):
        usual_s = (3 if traits["phase"] == "first" else 1) * (1e-6 + 0.2e-9 * int(traits.get("message_bytes", "0")))
        value = (speed * usual_s + extra_s(traits)) * draw.uniform(0.97, 1.03)
        key = (" ".join(f"{k}={v}" for k, v in sorted(traits.items())), "call_s", traits["phase"])
        interval = (0.97 * value, 1.03 * value)
        measured.append(Item(key, number // 2, "call_s", traits["phase"], value, interval, 5, traits))
    return measured


def _healthy(draw: random.Random, count: int = 5):
    runs = [(HealthyRun(f"h{n}", "mpich 5", "host, 16", 2), _measured(draw)) for n in range(count)]
    return joined([(run, {item.key: item.value for item in items}) for run, items in runs])


def _judged(draw: random.Random, extra_s, machine: str = "host, 16", speed: float = 1.0) -> list[Judged]:
    items = _measured(draw, extra_s, speed)
    here = HealthyRun("here", "mpich 5", machine, 2)
    known = references(items, _healthy(draw), here)
    return [Judged(item, *known[item.key]) for item in items]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("machine", ["host, 16", "other, 16"])
def test_a_cost_planted_at_random_is_named_with_its_call_and_number(seed: int, machine: str) -> None:
    draw = random.Random(seed)
    name = draw.choice(COLLECTIVES)
    above = draw.choice(LENGTHS[:6])
    cost_s, per_byte_s = draw.choice([(40e-6, 0.0), (15e-6, 0.0), (0.0, 2e-9)])

    def extra_s(traits: dict[str, str]) -> float:
        length = int(traits.get("message_bytes", "0"))
        return cost_s + per_byte_s * length if traits.get("collective") == name and length >= above else 0.0

    groups = shared(_judged(draw, extra_s, machine))

    assert groups[0].subject.startswith(f"MPI_{name.capitalize()}")
    assert groups[0].cost.coefficient_s == pytest.approx(cost_s or per_byte_s, rel=0.25)
    assert len(groups) == 1


@pytest.mark.parametrize(("piece", "more_s", "most"), [(8192, 0.0, 2**20), (2**40, 1e-9, 2**20), (32768, 0.0, 2**16)])
def test_a_cost_of_each_begun_piece_is_said_by_the_piece_where_it_is_paid_four_times(piece, more_s, most) -> None:
    def extra_s(traits: dict[str, str]) -> float:
        length = int(traits.get("message_bytes", "0"))
        return 20e-6 * -(-length // piece) + more_s * length if traits.get("collective") == "scan" else 0.0

    text = shared([time for time in _judged(random.Random(5), extra_s) if time.item.length <= most])[0].text
    said = re.match(r"MPI_Scan takes (.*) us \[.*\] longer for each (.*) begun", text)
    assert (said and (round(float(said[1]), -1), said[2])) == (
        None if most < 4 * piece else (20.0, f"{piece // 1024} KiB")
    )


def test_a_limit_is_named_only_where_shorter_messages_would_show_the_cost() -> None:
    draw = random.Random(1)
    groups = shared(_judged(draw, lambda t: 30e-6 if int(t.get("message_bytes", "0")) >= 16384 else 0.0))
    assert any((c.relation, c.value, c.beyond) == ("from", "16384", "8192") for c in groups[0].conditions)
    assert "of at least 16 KiB (not 8 KiB)" in groups[0].text
    everywhere = shared(_judged(draw, lambda t: 5e-6 if t["experiment"] == "p2p" else 0.0))
    assert not any(c.relation == "from" for c in everywhere[0].conditions)


def test_healthy_runs_deviate_nowhere_on_this_machine_or_a_slower_one() -> None:
    draw = random.Random(2)
    for _ in range(20):
        assert shared(_judged(draw, lambda traits: 0.0)) == []
        assert shared(_judged(draw, lambda traits: 0.0, "other, 16", speed=draw.uniform(0.3, 4.0))) == []


def test_transport_and_kind_of_machine_choose_the_references() -> None:
    items, known = _measured(random.Random(2)), _healthy(random.Random(3))
    assert references(items, known, HealthyRun("here", "mpich 5.1", "host, 16", 2))
    assert not references(items, known, HealthyRun("here", "mpich 5 ucx", "host, 16", 2))
    for machine, source in (("host, 32", THIS_KIND), ("host, 2", "other machines"), ("new, 32", "other machines")):
        chosen = references(items, known, HealthyRun("here", "mpich 5", machine, 2))
        assert {reference.source for reference, _ in chosen.values()} == {source}


@pytest.mark.parametrize(("speed", "extra_s", "slow"), [(0.5, 6e-6, 1), (2.0, 0.0, 0)])
def test_calls_after_a_pause_scale_with_what_such_calls_take_in_a_run(speed: float, extra_s: float, slow: int) -> None:
    def paused(speed: float, extra_s: float = 0.0) -> list[Item]:
        times_s = {n: speed * 5e-6 + extra_s * (n == 0) for n in range(9)}
        rest = ("call_idle_s", "steady")
        return [Item((str(n), *rest), n, *rest, t, (t, t), 5, {"experiment": "first_use"}) for n, t in times_s.items()]

    runs = [(HealthyRun("h", "mpich 5", "host, 16", 2), paused(usual)) for usual in (0.6, 1.0, 1.4)]
    healthy = joined([(run, {item.key: item.value for item in times}) for run, times in runs])
    known = references(measured := paused(speed, extra_s), healthy, runs[0][0])
    assert sum(Judged(item, *known[item.key]).side == "slower" for item in measured) == slow


def test_a_class_that_is_slow_as_a_whole_is_held_against_the_others() -> None:
    groups = shared(_judged(random.Random(3), lambda t: 20e-6 if t["experiment"] == "coll" else 0.0, "other, 16"))
    assert groups[0].subject.startswith("Collectives")
    assert groups[0].cost.coefficient_s == pytest.approx(20e-6, rel=0.25)


def _time(cell: int, usual_s: float, extra_s: float, **traits: str) -> Judged:
    """A steady time of a cell, with what it takes in healthy runs."""
    value, known = usual_s + extra_s, {**traits, "environment": "default", "placement": "bound", "phase": "steady"}
    item = Item((str(cell), "call_s", "steady"), cell, "call_s", "steady", value, (value, value), 5, known)
    return Judged(item, Reference(usual_s, 0.95 * usual_s, 1.05 * usual_s, 5, THIS_KIND), 1.3 * usual_s)


def test_lengths_that_are_close_tell_no_law() -> None:
    call = {"experiment": "first_use", "pattern": "call", "call": "ssend"}
    late = [_time(n, 1e-6, extra_s, **call, message_bytes=str(n)) for n, extra_s in ((64, 12e-6), (104, 20e-6))]
    (group,) = shared([*late, *_judged(random.Random(9), lambda traits: 0.0)[: -2 * len(CALLS)]])
    assert re.match(r"MPI_Ssend takes [\d.]+ us \[.*\] longer than in healthy runs", group.text)


def _starts(cost_s: float, slow: str) -> list[Judged]:
    """Calls that start requests, one or eight at once, of which some cost more by the request."""
    rows = []
    makers = ("MPI_Send_init", "MPI_Send_init", "MPI_Ssend_init", "MPI_Rsend_init")
    for number, maker in enumerate(makers):
        call, count = ("startall", 8) if number == 1 else ("start", 1)
        traits = {"experiment": "first_use", "pattern": "call", "call": call}
        traits |= {"request": maker} if call == "start" else {}
        for length in (64, 4096):
            extra_s = cost_s * count if maker == slow else 0.0
            rows.append(_time(2 * number + (length > 64), 2e-6, extra_s, message_bytes=str(length), **traits))
    return rows


def test_requests_are_named_by_the_call_that_made_them_and_cost_by_the_request() -> None:
    (group,) = shared(_starts(22e-6, "MPI_Ssend_init"))
    assert group.subject == "MPI_Start on requests of MPI_Ssend_init"
    (group,) = shared(_starts(2.2e-6, "MPI_Send_init"))
    assert group.text.startswith(
        "Calls on requests of MPI_Send_init take 2.20 us [2.14 us, 2.26 us] longer for each request"
    )


@pytest.mark.parametrize(
    ("experiment", "by_rank_s", "said"),
    [
        ("first_use", [(5e-6, 10e-6)] * 4, 1),  # a tool slows down both
        ("first_use", [(10e-6, 2e-6)] * 4, 0),
        ("first_use", [(10e-6, 10e-6)] * 4, None),
        ("first_use", [(10e-6, 0.03e-6)] * 4, None),  # the other rank makes no such call
        ("first_use", [(2e-6, 10e-6)] * 3 + [(10e-6, 10e-6)], None),
        ("coll", [(2e-6, 10e-6)] * 3 + [(10e-6, 10e-6)], 1),  # where it waits for the slow one
        ("coll", [(2e-6, 10e-6)] + [(10e-6, 10e-6)] * 3, None),
        ("coll", [()] * 4, None),
    ],
)
def test_the_rank_is_said_where_it_alone_is_slow(experiment, by_rank_s, said) -> None:
    one = _time(0, 2e-6, 8e-6, experiment=experiment, collective="bcast")
    slow = [replace(one, item=replace(one.item, by_rank_s=times)) for times in by_rank_s]
    assert slow_rank(slow) == said
    group = Shared((), tuple(slow), 4, 0, 9, Cost("constant", 8e-6, (8e-6, 8e-6)))
    assert group.subject.endswith(f" on rank {said} alone") == (said is not None)


def test_what_one_length_alone_shows_is_said_of_that_length_and_by_no_byte() -> None:
    late = _judged(random.Random(8), lambda t: 1e-10 * int(t["message_bytes"]) if "collective" in t else 0.0)
    (group,) = shared([time for time in late if time.item.length in (8, 64, 1024, LENGTHS[-1])])
    assert re.match(r"Collectives of 1 MiB \(not 1 KiB\) take 1\d\d us \[", group.text)


def test_calls_that_are_repeated_until_one_succeeds_are_said_to_be() -> None:
    late = [_time(n, 1e-6, 2e-6, experiment="first_use", pattern="call", call="iprobe") for n in range(3)]
    (group,) = shared([*late, *_judged(random.Random(9), lambda traits: 0.0)])
    assert group.text.startswith("MPI_Iprobe called until it succeeds takes 2.00 us ")


def test_a_cost_in_proportion_is_said_with_the_most_that_it_takes() -> None:
    usual_s = {64: 1e-6, 1024: 2e-5, 8192: 4e-5, 65536: 3e-4}
    call = {"experiment": "coll", "collective": "bcast"}
    (group,) = shared([_time(n, s, 2 * s, **call, message_bytes=str(n)) for n, s in usual_s.items()])
    assert re.match(r"MPI_Bcast takes 3.00x \[.*\] as long as in healthy runs, up to 600 us more: in all 4", group.text)


def test_a_cost_of_two_calls_is_said_of_both_though_first_uses_lack_it() -> None:
    late = {("bcast", "steady"): 30e-6, ("scan", "steady"): 30e-6}
    (group,) = shared(_judged(random.Random(5), lambda t: late.get((t.get("collective"), t["phase"]), 0.0)))
    assert group.subject == "MPI_Bcast or MPI_Scan"


def test_a_cost_of_another_size_is_another_fault_however_alike_the_ratios_are() -> None:
    large = [_time(n, 5e-6, 12e-6, experiment="coll", collective="bcast", message_bytes=str(n)) for n in LENGTHS[1:4]]
    others = [_time(n, 1e-7, 1e-7, experiment="coll", collective="scan") for n in range(3)]
    assert [group.calls for group in shared([*large, *others])] == [("MPI_Bcast",), ("MPI_Scan",)]


def test_a_synchronisation_need_not_show_in_the_time_of_a_put() -> None:
    put = {"experiment": "put", "synchronise": "lock", "message_bytes": "8"}
    call = {"experiment": "first_use", "pattern": "call", "call": "win_lock", "message_bytes": "64"}
    slow = [_time(n, 1e-6, 2e-6, **(put if n < 2 else call)) for n in range(6)]
    others = [_time(n, 1e-6, 0.0, **({**call, "call": "win_test"} if n > 5 else put)) for n in range(10)]
    puts = [replace(time, item=replace(time.item, metric="time_per_put_s")) for time in others[:6]]
    assert [group.subject for group in shared([*slow, *puts, *others[6:]])] == ["MPI_Win_lock"]


@pytest.mark.parametrize(
    ("phase", "fastest_us", "is_law"), [("steady", 1.0, False), ("steady", 39.0, True), ("first", 1.0, True)]
)
def test_a_launch_as_in_healthy_runs_speaks_against_all_but_first_uses(phase, fastest_us: float, is_law: bool) -> None:
    bcast = [_time(n, 1e-6, 39e-6, experiment="coll", collective="bcast") for n in range(24)]
    bcast = [replace(time, item=replace(time.item, phase=phase)) for time in bcast]
    wide = {"interval": (0.5e-6, 300e-6), "launches_s": (4e-5, 1e-6 * fastest_us, 4e-5)}
    bcast[10:] = [replace(time, item=replace(time.item, **wide)) for time in bcast[10:]]
    (group,) = shared([*bcast, *(_time(n, 1e-6, 0.0, experiment="coll", collective="scan") for n in range(30, 40))])
    assert (group.calls, group.is_law, group.is_of_many) == (("MPI_Bcast",), is_law, is_law)


@pytest.mark.parametrize(("fastest_s", "side"), [(1.42e-6, "slower"), (1.39e-6, "within")])
def test_a_time_each_launch_of_which_lies_beyond_is_slow_however_wide_its_interval(fastest_s: float, side: str) -> None:
    time = _time(0, 0.95e-6, 0.59e-6, experiment="first_use", pattern="call", call="waitsome")
    three = {"interval": (1.28e-6, 1.86e-6), "launches_s": (fastest_s, 1.57e-6, 1.65e-6), "launches": 3}
    assert replace(time, item=replace(time.item, **three), limit=1.41e-6).side == side


@pytest.mark.parametrize(("elsewhere_s", "count"), [(0.0, 0), (30e-6, 1), (4e-6, 4)])
def test_stalls_may_be_of_a_call_with_which_others_are_slow_as_well(elsewhere_s: float, count: int) -> None:
    held = [_time(n, 1e-6, 3e-6 if n < 2 else elsewhere_s * (n < 2 + count), experiment="first_use", pattern="call",
                  call="grequest_start" if n < 2 else "wait") for n in range(9)]  # fmt: skip
    known = [replace(time, item=replace(time.item, series=140, mean_s=time.item.value, period=8)) for time in held]
    stalls = [replace(time, item=replace(time.item, kind=MEAN)) for time in known[:2]]
    (group,) = (group for group in shared([*stalls, *known[2:]]) if 0 in group.cells)
    assert group.text.startswith("One in 8 operations of MPI_Grequest_")
    assert (group.is_law, "MPI_Wait" in group.calls) == (True, elsewhere_s > 0)


ISCATTER = {"experiment": "first_use", "pattern": "call", "call": "iscatter"}
DUPLICATE = {**ISCATTER, "communicator": "duplicate", "message_bytes": "20000"}


@pytest.mark.parametrize(
    ("measured", "extra_s", "said"),
    [
        ({**ISCATTER, "message_bytes": "64"}, 0.0, "after a pause of at least 20 us without MPI; of at least 20000 B"),
        ({**ISCATTER, "message_bytes": "20000"}, 0.0, "after a pause of at least 20 us without MPI"),
        ({**DUPLICATE, "message_bytes": "64"}, 9e-6, "after a pause of at least 20 us without MPI"),
        ({**DUPLICATE, "after_call": "on"}, 9e-6, "of at least 20000 B"),
        ({**DUPLICATE, "after_call": "on"}, 0.0, "of at least 20000 B"),
    ],
)
def test_a_condition_that_no_cell_refutes_is_said_as_well(measured, extra_s: float, said: str) -> None:
    slow = [_time(n, 1e-6, 9e-6, **DUPLICATE) for n in range(3)]
    rest = [_time(n, 1e-6, 0.0, **ISCATTER, message_bytes="64") for n in range(3, 6)]
    others = [_time(n, 1e-6, 0.0, **{**ISCATTER, "call": "comm_dup"}) for n in range(8, 12)]
    again = [replace(_time(n, 1e-6, extra_s, **measured), limit=1.0) for n in (6, 7)]  # none is slow, some show it
    (group,) = shared([*slow, *rest, *again, *others])
    assert group.text.partition(" Its condition may also be: ")[2] == f"{said}."
    is_paused = measured.get("after_call") == "on" and not extra_s
    assert ("after a pause of at least 20 us without MPI takes" in group.text) is is_paused


def test_stalls_and_a_cost_of_every_call_are_two_costs() -> None:
    call = {"experiment": "first_use", "pattern": "call"}
    slow = [_time(n, 1e-6, 3e-6 if n < 2 else 2e-6, **call, call="type_size") for n in range(4)]
    stalls = [replace(time, item=replace(time.item, kind=MEAN, period=8)) for time in slow[:2]]
    others = [_time(n, 1e-6, 0.0, **call, call="comm_dup") for n in range(4, 9)]
    assert sorted(sorted(group.cells) for group in shared([*stalls, *slow[2:], *others])) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(("elsewhere_s", "is_law"), [(3e-6, False), (30e-6, True)])
def test_a_cost_that_more_cells_show_elsewhere_is_no_law(elsewhere_s: float, is_law: bool) -> None:
    bcast = [_time(n, 1e-6, 3e-6, experiment="coll", collective="bcast") for n in range(3)]
    rest = [_time(n, 1e-6, elsewhere_s * (n % 3 < 1), experiment="coll", collective=str(n // 3)) for n in range(3, 36)]
    assert [group.is_law for group in shared([*bcast, *rest]) if group.calls == ("MPI_Bcast",)] == [is_law]


def test_what_a_cell_does_not_state_is_no_trait_of_it() -> None:
    parameters = {**defaults_of("p2p"), "source": "any", "message_bytes": "64"}
    (item,) = items([a_cell(0, parameters=parameters, metrics={"call_s": a_metric(an_estimate(1e-6))})])
    assert (item.traits["source"], item.traits.keys() & {"poll", "posted", "requests"}) == ("any", set())


def test_each_parameter_of_the_panel_has_words() -> None:
    for table in load("panel").cells:
        for name in table.parameters.keys() - not_traits():
            for value in scalars(table.parameters[name]):
                words = Condition(name, "is", value).words
                assert not re.search("[=_]", re.sub(r"MPI_\w+", "", words)), (name, words)
                assert name in _words().things or value in _words().values.get(name, {}), (name, value)


def test_a_condition_is_said_in_words() -> None:
    assert Condition("message_bytes", "from", "65536", "32768").words == "of at least 64 KiB (not 32 KiB)"
    assert Condition("message_bytes", "multiple of", "4096").words == "whose length is a multiple of 4 KiB"
    assert Condition("live_buffers", "up to", "1", "4").words == "from at most 1 buffer in turn (not 4)"
    assert Condition("idle_s", "is", "0.001").words == "after a pause of 1.00 ms without MPI"
    assert (Condition("in_place", "is", "on") | Condition("in_place", "is", "off")).words == "not in place or in place"


def _series(draw: random.Random, every: int | None) -> CellResult:
    """A cell of 23 single calls in each of five launches, each n-th of which stalls; of the fifth all are slow."""
    launches = []
    for _ in range(5):
        calls_s = [(1.3e-5 if every == 5 else 1e-5) * draw.uniform(0.97, 1.03) for _ in range(23)]
        for place in range(draw.randrange(every) if every != 2 else 0, 23, every) if every else ():
            calls_s[place] += 1e-4
        reduced = reduce(MetricSamples(np.array(calls_s), 1))
        assert reduced is not None
        launches.append(reduced)
    plain = a_cell(0, experiment="first_use", parameters={"pattern": "call", "call": "comm_dup"}, metrics={})
    return msgspec.structs.replace(plain, metrics={"call_s": a_metric(estimate(launches, None))})


@pytest.mark.parametrize("every", [2, 3, 5, 7, 11, None])
def test_a_series_of_23_calls_shows_each_nth_that_stalls(every: int | None) -> None:
    draw = random.Random(6)
    (usual,) = items([_series(draw, None)])
    healthy = joined([(HealthyRun(f"h{n}", "mpich 5", "host, 16", 2), {usual.key: usual.value}) for n in range(3)])
    measured = list(items([_series(draw, every)]))
    here = HealthyRun("here", "mpich 5", "host, 16", 2)
    known = references(measured, healthy, here)
    others = _judged(random.Random(7), lambda traits: 0.0)
    said = [group.text for group in shared([*others, *decided([Judged(i, *known[i.key]) for i in measured])])]
    assert len(said) == (every is not None)
    if said:
        assert (text := said[0]).startswith(f"One in {every} operations of MPI_Comm_dup takes ")
        assert float(text.split(" takes ")[1].split(" us")[0]) == pytest.approx(100, rel=0.25)
        stalling = joined([(here, {item.key: item.value for item in measured})] * 3)
        known = references(measured, stalling, here)
        assert all(Judged(item, *known[item.key]).side == "within" for item in measured)
