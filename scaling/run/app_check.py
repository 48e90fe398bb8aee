"""Is an application safe on N loops? Its answers at N = 1 against those of N loops in threads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scaling.analysis.safety.exceptions import fatal
from scaling.analysis.safety.findings import Seen, judge
from scaling.base.errors import ScalingError
from scaling.base.formats import listed, plural
from scaling.journal.app_check import AppCheck
from scaling.journal.record import GilStates, ParameterValue, Record
from scaling.run.app_checker import Checker
from scaling.run.child import Child, run_child

WORKLOAD = "workers.workloads.parts.watched:WatchedApp"
THREADS = (2, 4)  # N to compare with N = 1
ALONE = 2  # runs at N = 1: what differs between them is volatile
ALONE_S, TOGETHER_S = 0.7, 2.0  # requests sent at once: at N = 1, and at more
LIMIT_S = 60.0  # for a run that hangs
AUTO = "auto"  # what finds out whether an application has a lifespan
NOTED = "noted "  # a fact with this before the kind of fault
FIRST_ERROR = 400
# Nothing is measured: all is sent before the window.
SHORTEST = {"warmup_s": 0.0, "window_s": 0.05, "ticks": 2}
# What the host says of a worker whose process is gone (workers/host/channel.py).
ENDED = "ended without reporting why"


class AppCheckError(ScalingError):
    """The application does not work on one loop; the message says why."""

    exit_code = 2


def check_application(
    child: Child,
    parameters: Mapping[str, ParameterValue],
    requests: Sequence[Mapping[str, Any]] = ({"path": "/"},),
    *,
    workers: Sequence[int] = THREADS,
    loop: str = "asyncio",
    say: Callable[[str], None] | None = None,
) -> AppCheck:
    """Send every request to the application at N = 1 and in threads at each N of `workers`.

    `child` is that of the arm whose threads are to be checked (`3.14t`), its environment variables
    made as for a run. `parameters` are those of the workload `app`: application, factory,
    interface, lifespan, health. `requests` are objects of the JSON Lines file. `say` gets a line
    before it begins. It takes less than 20 s for an application that answers.

    Raises:
        AppCheckError: the application does not work at N = 1; the message has its last lines.
    """
    on_loops = {**parameters, "server": "loops"}
    if say:
        say(f"checking {plural(len(requests), 'request')} at N = {listed([1, *workers])}")

    def run(model: str, count: int, together_s: float) -> Seen:
        cell = {"workload": WORKLOAD, "parameters": on_loops, "loop": loop, **SHORTEST}
        return _run(child, {**cell, "model": model, "workers": count}, requests, together_s)

    # In a process of its own: what an application may do in the main thread belongs to N = 1.
    alone = []
    if on_loops.get("lifespan", AUTO) == AUTO:
        # With `auto`, a lifespan that fails on several loops would pass for none.
        on_loops["lifespan"] = "on"
        first = run("processes", 1, ALONE_S)
        if first.outcome == "measured" or _unanswered(first):
            alone.append(first)
            _must_work(first, requests)
        else:
            on_loops["lifespan"] = AUTO
    while len(alone) < ALONE:
        alone.append(run("processes", 1, ALONE_S))
        _must_work(alone[-1], requests)
    several = [run("threads", count, TOGETHER_S) for count in workers]
    return judge([_name(each) for each in requests], alone, several)


def _run(
    child: Child, cell: Mapping[str, Any], requests: Sequence[Mapping[str, Any]], together_s: float
) -> Seen:
    checker = Checker(requests, together_s)
    ending = run_child(child, cell, limit_s=LIMIT_S, generator=checker)
    record = ending.record
    ended_by_us = checker.given_up and ending.outcome == "failed"
    failure = record.failure if record and not ended_by_us else None
    return Seen(
        workers=cell["workers"],
        outcome="measured" if ended_by_us else ending.outcome,
        answers=checker.answers,
        failure=failure.error if failure else "",
        text=ending.stderr + (failure.traceback if failure else ""),
        samples=[words for each in record.workers for words in each.error_samples]
        if record
        else (),
        noted=_noted(record.facts) if record else {},
        gil=list(_gil(record)) if record else (),
    )


def _noted(facts: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(NOTED): words for name, words in facts.items() if name.startswith(NOTED)
    }


def _gil(record: Record) -> Iterator[GilStates]:
    yield record.process.gil
    yield from (each.process.gil for each in record.workers if each.process)


def _must_work(seen: Seen, requests: Sequence[Mapping[str, Any]]) -> None:
    if crash := fatal(seen.text):
        raise AppCheckError(f"the application crashes on one loop: {crash}")
    if found := _unanswered(seen):
        place, failure = found
        raise AppCheckError(
            f"{_name(requests[place])} on one loop: {failure}\n"
            "It must answer on one loop before several can be checked."
        )
    if ENDED in seen.failure:
        raise AppCheckError("the application ends its process on one loop, without a message")
    if seen.outcome != "measured":
        lines = [line.strip() for line in seen.text.strip().splitlines()]
        reason = seen.failure or (lines[-1] if lines else seen.outcome)
        raise AppCheckError(f"the application does not start on one loop: {reason}")
    for request, answers in zip(requests, seen.answers, strict=True):
        for answer in answers:
            right = request.get("status")
            if answer.status != right if right else answer.status >= FIRST_ERROR:
                words = next(iter(seen.exceptions()), answer.body[:200].decode(errors="replace"))
                raise AppCheckError(
                    f"{_name(request)} is answered with status {answer.status} on one loop: "
                    f"{words}\nName the requests with --requests, and the right `status` of each."
                )


def _unanswered(seen: Seen) -> tuple[int, str] | None:
    """The place of the first request without an answer, and what happened instead."""
    return next(
        (
            (place, answer.failure)
            for place, answers in enumerate(seen.answers)
            for answer in answers
            if answer.failure
        ),
        None,
    )


def _name(request: Mapping[str, Any]) -> str:
    return f"{request.get('method', 'GET')} {request.get('path') or '/'}"
