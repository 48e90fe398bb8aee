"""State of one process is told from values that differ by chance, by time, or on the disk.

Applications are simulated: what one answers is a function of what its process and the disk keep.
"""

import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import combinations, count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.check.answers import Answer
from scaling.analysis.check.findings import Judge, Seen
from scaling.analysis.check.state import Baseline, in_turn, passes, worker_of
from scaling.journal.check_file import Finding
from scaling.run.check.client import Sending, always
from scaling.run.check.runs import OutOfTimeError
from scaling.run.check.state import ROUNDS, StateCheck

type Own = SimpleNamespace  # what a process keeps
type Reply = Callable[[Own, Own, int, random.Random], object]

REPEATED = 2  # of the list, in a sequence


class Simulated:
    """Stands in for `Runs`: `make` is what importing the application does in a process, `reply` is
    what it then answers. `most` runs are done, then time is out.
    """

    def __init__(
        self,
        reply: Reply,
        requests: int,
        make: Callable[[random.Random], Own] = lambda _: SimpleNamespace(kept=set()),
        seed: int = 1,
        most: int = 1_000,
    ) -> None:
        self.reply, self.requests, self.make = reply, requests, make
        self.disk: Own = SimpleNamespace(kept=[])
        self.choices = random.Random(seed)
        self.left = most

    def __call__(self, model: str, workers: int, sending: Sending) -> Seen:
        self.left -= 1
        if self.left < 0:
            raise OutOfTimeError
        assert sending.worker_of
        first = self.make(self.choices)
        owned = {
            "threads": [first] * workers,
            "processes": [first, *(self.make(self.choices) for _ in range(workers - 1))],
            "forked": [deepcopy(first) for _ in range(workers)],
        }[model]
        answers = []
        for position in range(sending.length or 0):
            own = owned[sending.worker_of(position)]
            found = self.reply(own, self.disk, position % self.requests, self.choices)
            status = found if isinstance(found, int) else 200
            answers.append(Answer(status=status, body=repr(found).encode()))
        return Seen(workers=workers, model=model, sequence=answers)


def checked(runs: Simulated, models: Sequence[str] = ("processes", "forked")) -> StateCheck:
    """The check of a simulated application; its findings are in `found`."""
    names = [f"GET /{place}" for place in range(runs.requests)]
    sending = Sending(worker_of=always(0), length=REPEATED * runs.requests)
    alone = [runs("processes", 1, sending) for _ in range(2)]
    return StateCheck(
        runs,  # type: ignore[arg-type]
        names,
        Judge(names, [Seen(workers=1, answers=[[] for _ in names])]),
        Baseline(len(names), [each.sequence for each in alone]),
    )


def findings(reply: Reply, requests: int = 2, **asked: Any) -> list[Finding]:
    return checked(Simulated(reply, requests, **asked)).findings(("processes", "forked"))


def added(own: Own, disk: Own, place: int, choices: random.Random) -> object:
    """The first request adds an item that the second one needs."""
    if place == 0:
        own.kept.add("item")
        return 201
    return 200 if "item" in own.kept else 404


@given(st.integers(2, 200))
def test_each_pair_of_requests_is_parted_once_and_each_from_its_repetition(requests: int) -> None:
    numbers = range(passes(requests))
    for one, other in combinations(random.Random(1).sample(range(requests), 2), 2):
        assert any(
            worker_of(one, requests, number) != worker_of(other, requests, number)
            for number in numbers
        )
    again = requests + requests // 2
    assert worker_of(again, requests, 0) != worker_of(requests // 2, requests, 0)
    assert [worker_of(place, requests, 0) for place in range(2)] == [0, 1]
    assert passes(1) == 1
    assert [worker_of(position, 1, 0) for position in range(4)] == [0, 1, 0, 1]
    assert [in_turn(position, 3, 2) for position in range(6)] == [0, 1, 0, 1, 0, 1]


def test_what_a_process_keeps_is_lost_by_both_kinds_and_kept_by_threads() -> None:
    (found,) = findings(added)
    assert found.models == ("processes", "forked")
    assert found.remedy == "Threads keep it; processes need a database, or sticky connections"
    assert found.request == "GET /1"
    assert found.message == (
        "In processes `GET /1` is answered 404, not 200: this state lives in one process"
    )

    def counts(own: Own, disk: Own, place: int, choices: random.Random) -> object:
        own.kept.add(place)
        return len(own.kept) if place else 0

    (found,) = findings(counts, requests=9)  # those that differ are named with the first
    assert "`GET /1` is answered" in found.message
    assert "GET /5 and 3 more requests, too)" in found.message


def test_a_value_made_at_import_is_lost_by_fresh_processes_alone() -> None:
    def made(choices: random.Random) -> Own:
        return SimpleNamespace(key=choices.random())

    def reply(own: Own, disk: Own, place: int, choices: random.Random) -> object:
        if place == 0:
            disk.cookie = own.key
            return 200
        return 200 if disk.cookie == own.key else 401

    (found,) = findings(reply, make=made)
    assert found.models == ("processes",)
    assert found.message.startswith("In fresh processes `GET /1` is answered 401, not 200")


def test_state_that_outlives_a_process_is_no_finding() -> None:
    def once(own: Own, disk: Own, place: int, choices: random.Random) -> object:
        disk.kept.append(place)
        return 409 if len(disk.kept) > 1 else 201

    def limit(own: Own, disk: Own, place: int, choices: random.Random) -> object:
        disk.kept.append(place)  # the baseline stays below it
        return 429 if len(disk.kept) > 10 else 200

    def last(own: Own, disk: Own, place: int, choices: random.Random) -> object:
        disk.kept.append(place)
        return f"{disk.kept[-3:]}"

    for reply in (once, limit, last):
        assert findings(reply) == []


@pytest.mark.parametrize("values", [2, 10])
def test_what_differs_by_chance_is_hardly_ever_a_finding(values: int) -> None:
    """Of four requests each answers one of so many values, as a set of two does in either order."""

    def reply(own: Own, disk: Own, place: int, choices: random.Random) -> object:
        return f"{choices.randrange(values)}"

    found = sum(bool(findings(reply, requests=4, seed=seed)) for seed in range(300))
    assert found <= 3  # 1 %


def test_what_changes_at_some_time_is_no_finding() -> None:
    """The hour is another one from a certain request on."""

    def from_instant(instant: int) -> Reply:
        clock = count()
        return lambda own, disk, place, choices: "13 h" if next(clock) < instant else "14 h"

    for instant in range(120):
        assert findings(from_instant(instant)) == []


def test_out_of_time_it_says_what_was_not_checked() -> None:
    def found(most: int) -> tuple[list[Finding], list[str]]:
        check = checked(Simulated(added, 2, most=most))
        return check.findings(("processes", "forked")), check.left_out

    assert found(2) == (
        [],
        ["fresh processes: no time was left", "forked processes: no time was left"],
    )
    (state,), left_out = found(3 + 2 * ROUNDS)
    assert state.models == ("processes",)
    assert "forked processes: no time was left" in left_out
    # Of threads and forked ones nobody knows.
    assert state.remedy == "Processes need a database, or sticky connections"


def test_processes_that_do_not_start_are_a_finding_and_what_cannot_be_forked_is_left_out() -> None:
    def runs(failure: str) -> Any:
        return lambda model, workers, sending: Seen(
            workers=workers, model=model, outcome="failed", failure=failure, answers=[[]]
        )

    def check(failure: str) -> StateCheck:
        judge = Judge(["GET /"], [Seen(workers=1, answers=[[]])])
        return StateCheck(runs(failure), ["GET /"], judge, Baseline(1, [[Answer(status=200)]]))

    (found,) = check("OSError: [Errno 98] Address already in use").findings(["processes"])
    assert (found.kind, found.models) == ("failed-to-start", ("processes",))
    assert found.message.startswith("2 processes: OSError")
    forked = check("RuntimeError: imports start threads (1), which a forked process would not have")
    assert forked.findings(["forked"]) == []
    (left_out,) = forked.left_out
    assert left_out.startswith("forked processes: imports start threads (1)")
