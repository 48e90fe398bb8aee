"""Is an application safe on N loops? Its answers at N = 1 against those of N loops in threads."""

import contextlib
import http.client
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import msgspec

from scaling.analysis.causes import fatal, stuck
from scaling.analysis.safety import OF_SHARED_STATE, Answer, Seen, judge, relabelled
from scaling.base.errors import ScalingError
from scaling.base.formats import listed, plural
from scaling.journal.beside import AppCheck, Kind
from scaling.journal.record import GilStates, ParameterValue, Record
from scaling.run.app_requests import send
from scaling.run.child import Child, run_child
from scaling.run.load import Client, LoadError
from scaling.run.redaction import hide, secrets_in

WORKLOAD = "workers.workloads.parts.watched:WatchedApp"
THREADS = (2, 4)  # N to compare with N = 1
ALONE = 2  # runs at N = 1: what differs between them is volatile
ALONE_S, TOGETHER_S = 0.7, 2.0  # requests sent at once: at N = 1, and at more
LIMIT_S = 60.0  # for a run that hangs
AUTO = "auto"  # what finds out whether an application has a lifespan
NOTED = "noted "  # a fact with this before the kind of fault
FIRST_ERROR = 400
FIRSTS = 5  # fresh processes, in each of which every request comes first to all loops at once
# Threads of a free-threaded build begin with a copy of the context that starts them, unless this
# is set. At N = 1 it is: then no thread of a pool has the context of an earlier request.
ALONE_IN_IT = {"PYTHON_THREAD_INHERIT_CONTEXT": "0"}
# Nothing is measured: all is sent before the window.
SHORTEST = {"warmup_s": 0.0, "window_s": 0.05, "ticks": 2}
# What the host says of a worker whose process is gone (workers/host/channel.py).
ENDED = "ended without reporting why"
# What an application says that does not get ready (workers/workloads/parts/first_request.py).
HUNG = "timed-out"
NOT_READY = "is --health the right path?"


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
    before it begins.

    Then every request comes first to all loops, in fresh processes. What shared state does to
    answers is tried again in threads that inherit no context.

    Raises:
        AppCheckError: the application does not work at N = 1; the message has its last lines.
    """
    on_loops = {**parameters, "server": "loops"}
    if say:
        say(f"checking {plural(len(requests), 'request')} at N = {listed([1, *workers])}")

    def run(model: str, count: int, together_s: float | None, *, inherit: bool = True) -> Seen:
        asked = {**on_loops, "untouched": together_s is None}
        cell = {"workload": WORKLOAD, "parameters": asked, "loop": loop, **SHORTEST}
        variables = {**child.environment, **({} if inherit else ALONE_IN_IT)}
        started = replace(child, environment=variables)
        return _run(started, {**cell, "model": model, "workers": count}, requests, together_s)

    # In a process of its own: what an application may do in the main thread belongs to N = 1.
    alone = []
    if on_loops.get("lifespan", AUTO) == AUTO:
        # With `auto`, a lifespan that fails on several loops would pass for none.
        on_loops["lifespan"] = "on"
        first = run("processes", 1, ALONE_S, inherit=False)
        ended = first.outcome in ("measured", HUNG) or _unanswered(first)
        if ended or NOT_READY in first.failure:
            alone.append(first)
            _must_work(first, requests)
        else:
            on_loops["lifespan"] = AUTO
    while len(alone) < ALONE:
        alone.append(run("processes", 1, ALONE_S, inherit=False))
        _must_work(alone[-1], requests)
    names = [_name(each) for each in requests]
    several = [run("threads", count, TOGETHER_S) for count in workers]
    fresh = FIRSTS if several and not any(map(_unanswered, several)) else 0
    at_first = [run("threads", max(workers), None) for _ in range(fresh)]
    found = judge(names, alone, several, at_first)

    def kinds(*, inherit: bool) -> set[Kind]:
        seen = [run("threads", count, TOGETHER_S, inherit=inherit) for count in workers]
        return {each.kind for each in judge(names, alone, seen).findings}

    return _without(secrets_in(requests), _with_inherited(found, several, kinds))


def _with_inherited(
    found: AppCheck, several: Sequence[Seen], kinds: Callable[..., set[Kind]]
) -> AppCheck:
    """The result, in which those kinds are `context-inherited` that go away when threads begin with
    an empty context, and come back when they inherit one.
    """
    suspects = {each.kind for each in found.findings} & set(OF_SHARED_STATE)
    free = any(each.started is False for run in several for each in run.gil)
    for inherit in (False, True, False) if free else ():
        if suspects:
            there = kinds(inherit=inherit)
            suspects = suspects & there if inherit else suspects - there
    findings = [
        relabelled(each, "context-inherited") if free and each.kind in suspects else each
        for each in found.findings
    ]
    return msgspec.structs.replace(found, findings=findings)


def answers_of(
    child: Child,
    parameters: Mapping[str, ParameterValue],
    requests: Sequence[Mapping[str, Any]],
    *,
    loop: str = "asyncio",
) -> list[Answer]:
    """What the application answers on one loop, whatever the status: the first answer to each.

    Raises:
        AppCheckError: it does not start.
    """
    cell = {"workload": WORKLOAD, "parameters": {**parameters, "server": "loops"}, "loop": loop}
    seen = _run(child, {**cell, **SHORTEST, "model": "processes", "workers": 1}, requests, 0.0)
    _must_start(seen)
    return [each[0] for each in seen.answers if each]


def _without(secrets: Collection[str], found: AppCheck) -> AppCheck:
    """The result without cookies and tokens of the requests."""
    findings = [
        msgspec.structs.replace(
            each, request=hide(each.request, secrets), message=hide(each.message, secrets)
        )
        for each in found.findings
    ]
    return msgspec.structs.replace(found, findings=findings)


def _run(
    child: Child,
    cell: Mapping[str, Any],
    requests: Sequence[Mapping[str, Any]],
    together_s: float | None,
) -> Seen:
    checker = Checker(requests, together_s)
    secrets = secrets_in(requests)
    ending = run_child(child, cell, limit_s=LIMIT_S, generator=checker, secrets=secrets)
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
    """Raise `AppCheckError` unless the application starts and answers as it should."""
    secrets = secrets_in(requests)
    if not fatal(seen.text) and (found := _unanswered(seen)):
        place, failure = found
        raise AppCheckError(
            f"{hide(_name(requests[place]), secrets)} on one loop: {failure}\n"
            "It must answer on one loop before several can be checked."
        )
    _must_start(seen)
    for request, answers in zip(requests, seen.answers, strict=True):
        for answer in answers:
            right = request.get("status")
            if answer.status != right if right else answer.status >= FIRST_ERROR:
                words = next(iter(seen.exceptions()), answer.body[:200].decode(errors="replace"))
                what = f"{_name(request)} is answered with status {answer.status} on one loop: "
                raise AppCheckError(
                    f"{hide(what + words, secrets)}\n"
                    "Name the requests with --requests, and the right `status` of each."
                )


def _must_start(seen: Seen) -> None:
    """Raise `AppCheckError` if the application does not start, or does not live on."""
    if crash := fatal(seen.text):
        raise AppCheckError(f"the application crashes on one loop: {crash}")
    if ENDED in seen.failure:
        raise AppCheckError("the application ends its process on one loop, without a message")
    if seen.outcome == HUNG:
        raise AppCheckError(f"the application hangs on one loop{stuck(seen.text)}")
    if seen.outcome != "measured":
        lines = [line.strip() for line in seen.text.strip().splitlines()]
        reason = seen.failure or (lines[-1] if lines else seen.outcome)
        raise AppCheckError(f"the application does not start on one loop: {reason}")


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


# ------------------------------------------------------------------------------------------- client
# Sends each request of a set to all workers, one by one, then at once, and keeps the answers. Or at
# once from the beginning, so that all workers get their first requests at one instant.
#
# It takes the place of the load generator: all is done before the window, while the child waits.

PASSES = 2  # of each request, one by one, at every worker
PASSES_S = 2.0  # limit for passes after the first
CONNECTIONS = 4  # to each worker, and at least as many for all as the next says
AT_LEAST = 8
ANSWER_S = 4.0  # limit for answers to requests sent at once; after a missing one it gives up
ACCEPTED_S = 0.05  # by then the workers have accepted their connections
SHORTEST_S = 0.05  # for an answer that is there when the deadline has passed
KEPT = 2_000  # different answers of a request,
KEPT_BYTES = 64 * 2**20  # and bytes of all


class Checker(Client):
    """The client of one run, in the driver. `given_up`: a request had no answer."""

    def __init__(self, requests: Sequence[Mapping[str, Any]], together_s: float | None) -> None:
        """`together_s` is how long requests are sent at once; None: each once, to all workers."""
        self._requests = requests
        self._together_s = together_s
        self.given_up = False
        self._killed = False
        self._kept_bytes = 0
        self._answers: list[dict[Answer, None]] = [{} for _ in requests]

    @property
    def answers(self) -> list[list[Answer]]:
        """The different answers of each request, in the order in which they first came."""
        return [list(each) for each in self._answers]

    def connect(self, urls: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> None:
        """Send everything; the workload's own `requests` are not used.

        Raises:
            LoadError: a request had no answer, so the servers may hang: the run is of no more use.
        """
        del requests
        each = max(CONNECTIONS, AT_LEAST // len(urls))
        connections = [_connection(url) for url in urls for _ in range(each)]
        try:
            if self._together_s is None:
                self._first(connections[::each])
            else:
                self._one_by_one(connections[::each])
                self._at_once(connections, self._together_s)
        finally:
            for connection in connections:
                connection.close()
        if self.given_up:
            raise LoadError("a request was not answered")

    def kill(self) -> None:
        """Send no more."""
        self._killed = True

    def _one_by_one(self, connections: Sequence[http.client.HTTPConnection]) -> None:
        """Every request once, to one worker after the other, then all to all as time allows."""
        until = None
        for turn in range(len(connections) * PASSES):
            for place in range(len(self._requests)):
                if self._over(until):
                    return
                connection = connections[(place + turn) % len(connections)]
                self._try_to_send(connection, place)
                self._keep(place, self._answer(connection, place, time.monotonic() + ANSWER_S))
            until = until or time.monotonic() + PASSES_S

    def _at_once(
        self, connections: Sequence[http.client.HTTPConnection], together_s: float
    ) -> None:
        """A request on every connection, then all their answers, again and again."""
        choices = random.Random(1)
        until = time.monotonic() + together_s
        while not self._over(until):
            places = choices.choices(range(len(self._requests)), k=len(connections))
            self._exchange(list(zip(connections, places, strict=True)))

    def _first(self, connections: Sequence[http.client.HTTPConnection]) -> None:
        """One request after the other, each to all workers at one instant."""
        for connection in connections:
            with contextlib.suppress(OSError):  # sending says so
                connection.connect()
        time.sleep(ACCEPTED_S)
        for place in range(len(self._requests)):
            if not self._over(None):
                self._exchange([(connection, place) for connection in connections])

    def _exchange(self, pairs: Sequence[tuple[http.client.HTTPConnection, int]]) -> None:
        """Send a request on each connection, then read the answers."""
        for connection, place in pairs:
            self._try_to_send(connection, place)
        deadline = time.monotonic() + ANSWER_S
        for connection, place in pairs:
            self._keep(place, self._answer(connection, place, deadline))

    def _over(self, until: float | None) -> bool:
        late = until is not None and time.monotonic() > until
        return late or self.given_up or self._killed

    def _answer(
        self, connection: http.client.HTTPConnection, place: int, deadline: float
    ) -> Answer:
        """The answer to a request that was sent, or is now."""
        if connection.sock:
            connection.sock.settimeout(max(SHORTEST_S, deadline - time.monotonic()))
        try:
            try:
                return _read(connection)
            except (ConnectionError, http.client.ResponseNotReady):
                # It was idle for so long that the server has closed it.
                connection.close()
                self._send(connection, place)
                return _read(connection)
        except TimeoutError:
            failure = f"no answer within {ANSWER_S:.0f} s"
        except (OSError, http.client.HTTPException) as error:
            failure = f"no answer: {type(error).__name__}: {error}"
        connection.close()
        return Answer(failure=failure)

    def _try_to_send(self, connection: http.client.HTTPConnection, place: int) -> None:
        try:
            self._send(connection, place)
        except OSError:  # `_answer` sends it again, once it is closed
            connection.close()

    def _send(self, connection: http.client.HTTPConnection, place: int) -> None:
        send(connection, self._requests[place])

    def _keep(self, place: int, answer: Answer) -> None:
        self.given_up |= bool(answer.failure)
        kept = self._answers[place]
        if answer not in kept and len(kept) < KEPT and self._kept_bytes < KEPT_BYTES:
            kept[answer] = None
            self._kept_bytes += len(answer.body)


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)


def _read(connection: http.client.HTTPConnection) -> Answer:
    response = connection.getresponse()
    body = response.read()
    headers = tuple((name.lower(), value) for name, value in response.getheaders())
    return Answer(status=response.status, headers=headers, body=body)
