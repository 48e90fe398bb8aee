"""Is an application safe on N loops? Its answers on one loop against those of several.

Its requests go to one loop in two fresh processes, which is the baseline; to several loops in
threads; to two processes, fresh and forked; and first of all to all loops at once.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from scaling.analysis.check.answers import Answer
from scaling.analysis.check.evidence import is_cause
from scaling.analysis.check.exceptions import fatal, stuck
from scaling.analysis.check.findings import (
    FIRST_SERVER_ERROR,
    OF_SHARED_STATE,
    Judge,
    Seen,
)
from scaling.analysis.check.state import Baseline, in_turn
from scaling.base.errors import ScalingError
from scaling.base.formats import listed, plural
from scaling.base.vocabulary import PROCESSES, THREADS
from scaling.journal.beside import KINDS, AppCheck, Finding, Kind
from scaling.journal.record import ParameterValue
from scaling.run.check.client import Sending, always
from scaling.run.check.runs import CHECK_S, OutOfTimeError, Runs
from scaling.run.check.state import StateCheck
from scaling.run.child import Child
from scaling.run.redaction import hide

LOOPS = (2, 4)  # N to compare with N = 1
ALONE = 2  # runs at N = 1: what differs between them is volatile
ALONE_S, TOGETHER_S = 0.7, 2.0  # requests sent at once: at N = 1, and at more
AUTO = "auto"  # what finds out whether an application has a lifespan
FIRST_ERROR = 400
FIRSTS = 5  # fresh processes, in each of which every request comes first to all loops at once
# What the host says of a worker whose process is gone (workers/host/channel.py).
ENDED = "ended without reporting why"
# What an application says that does not get ready (workers/workloads/parts/first_request.py).
HUNG = "timed-out"
NOT_READY = "is --health the right path?"
WORDS = 200  # bytes of a body in a message
WEBSOCKET = "websocket"  # a fact: whether a path takes WebSocket connections


class AppCheckError(ScalingError):
    """The application does not work on one loop; the message says why."""

    exit_code = 2


def check_application(
    child: Child,
    parameters: Mapping[str, ParameterValue],
    requests: Sequence[Mapping[str, Any]] = ({"path": "/"},),
    *,
    workers: Sequence[int] = LOOPS,
    models: Sequence[str] = PROCESSES,
    loop: str = "asyncio",
    say: Callable[[str], None] | None = None,
) -> AppCheck:
    """Send every request to the application on one loop, in threads at each N of `workers`, and to
    two processes of each of `models`.

    `child` is that of the arm whose threads are to be checked (`3.14t`), its environment variables
    made as for a run. `parameters` are those of the workload `app`: application, factory,
    interface, lifespan, health. `requests` are objects of the JSON Lines file. `say` gets a line
    before it begins.

    Then every request comes first to all loops, in fresh processes. What shared state does to
    answers is tried again in threads that inherit no context.

    Raises:
        AppCheckError: the application does not work at N = 1; the message has its last lines.
    """
    if say:
        where = f"at N = {listed([1, *workers])}{' and in 2 processes' if models else ''}"
        say(f"checking {plural(len(requests), 'request')} {where}: {CHECK_S:.0f} s at most")
    runs = Runs(child, parameters, requests, loop)
    try:
        alone = _alone(runs)
        return _Check(runs, alone, workers).result(models)
    except OutOfTimeError:
        raise AppCheckError(
            f"the application is so slow that nothing can be compared in {CHECK_S:.0f} s. "
            "Name fewer requests with --requests, or leave the check out with --no-check"
        ) from None


class _Check:
    """One check, after the runs on one loop.

    Raises:
        OutOfTimeError: there is no time for any number of loops in threads.
    """

    def __init__(self, runs: Runs, alone: Sequence[Seen], workers: Sequence[int]) -> None:
        self._runs = runs
        self._names = [_name(each) for each in runs.requests]
        self._alone = alone
        self._judge = Judge(self._names, alone, factory=bool(runs.parameters.get("factory")))
        self._left_out = list(_declined(runs.requests, alone))
        self._several: list[Seen] = []
        for count in workers:
            try:
                self._several.append(self._in_threads(count))
            except OutOfTimeError as error:
                if not self._several:
                    raise
                self._left_out.append(f"{count} loops in threads: {error}")

    def result(self, models: Sequence[str]) -> AppCheck:
        """What is wrong, with these models of processes looked at, too."""
        baseline = Baseline(len(self._names), [each.sequence for each in self._alone])
        state = StateCheck(self._runs, self._names, self._judge, baseline)
        of_processes = state.findings(models)
        found = self._with_inherited(self._judge.findings(self._several, self._first()))
        findings = sorted([*found, *of_processes], key=lambda each: KINDS.index(each.kind))
        threads = [THREADS] if self._several else []
        return AppCheck(
            ok=not findings,
            findings=[_without(self._runs.secrets, each) for each in findings],
            models=(*threads, *state.models),
            left_out=[
                hide(each, self._runs.secrets) for each in (*self._left_out, *state.left_out)
            ],
        )

    def _in_threads(self, count: int, *, inherit: bool = True) -> Seen:
        turn = partial(in_turn, requests=len(self._names), workers=count)
        sending = Sending(worker_of=turn, repeated=2 * count, together_s=TOGETHER_S)
        # The first requests have runs of their own: here each loop is asked for `/` before.
        return self._runs(THREADS, count, sending, inherit=inherit, untouched=False)

    def _first(self) -> list[Seen]:
        """The runs in which every request comes first to all loops."""
        most = max((each.workers for each in self._several), default=0)
        found: list[Seen] = []
        try:
            while most and not any(map(_unanswered, self._several)) and len(found) < FIRSTS:
                found.append(self._runs(THREADS, most, Sending(first=True)))
        except OutOfTimeError as error:
            missing = plural(FIRSTS - len(found), "run")
            self._left_out.append(f"{missing} of first requests to all loops at once: {error}")
        return found

    def _with_inherited(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings, in which those kinds are `context-inherited` that show more often where
        threads inherit a context than by chance, and never where they begin with an empty one.
        """
        kinds_at = {run.workers: self._kinds(run) for run in self._several}
        suspects = {each.kind for each in findings} & set(OF_SHARED_STATE)
        free = any(each.started is False for run in self._several for each in run.gil)
        at = [count for count, kinds in kinds_at.items() if suspects <= kinds]
        if not (suspects and free and at):
            return list(findings)
        try:
            inherited = causes_by_trying(
                suspects, lambda inherit: self._kinds(self._in_threads(at[0], inherit=inherit))
            )
        except OutOfTimeError as error:
            self._left_out.append(f"whether threads inherit what they should not: {error}")
            return list(findings)
        return [
            self._judge.relabelled(each, "context-inherited") if each.kind in inherited else each
            for each in findings
        ]

    def _kinds(self, run: Seen) -> set[Kind]:
        return {each.kind for each in self._judge.findings([run])}


def causes_by_trying(suspects: set[Kind], kinds: Callable[[bool], set[Kind]]) -> set[Kind]:
    """Those of the suspects that come from an inherited context, by trying without and with it.

    `kinds` tries once, with an inherited context or without, and returns what it found.
    """
    with_it: list[set[Kind]] = []
    without: list[set[Kind]] = []
    found: dict[Kind, bool] = {}
    while unknown := suspects - found.keys():
        without.append(kinds(False))
        if not unknown <= without[-1]:
            with_it.append(kinds(True))
        for kind in unknown:
            answer = is_cause(
                [kind in each for each in with_it], [kind in each for each in without]
            )
            if answer is not None:
                found[kind] = answer
    return {kind for kind, is_it in found.items() if is_it}


# ---------------------------------------------------------------------------------------- one loop
# Whether the application works on one loop, in the runs of the baseline.


def _alone(runs: Runs) -> list[Seen]:
    """The runs of the baseline, each in a process of its own: what an application may do in the
    main thread belongs to N = 1.
    """
    sending = Sending(worker_of=always(0), together_s=ALONE_S)
    first = None
    if runs.parameters.get("lifespan", AUTO) == AUTO:
        # With `auto`, a lifespan that fails on several loops would pass for none.
        runs.parameters["lifespan"] = "on"
        first = runs("processes", 1, sending, inherit=False)
        ended = first.outcome in ("measured", HUNG) or _unanswered(first)
        if not (ended or NOT_READY in first.failure):
            runs.parameters["lifespan"] = AUTO
            first = None
    alone = [first or runs("processes", 1, sending, inherit=False)]
    _must_work(alone[0], runs)
    again = replace(sending, length=len(alone[0].sequence))
    while len(alone) < ALONE:
        alone.append(runs("processes", 1, again, inherit=False))
        _must_start(alone[-1], runs)
    return alone


def _must_work(seen: Seen, runs: Runs) -> None:
    """Raise `AppCheckError` unless the application starts and answers as it should: the first time.

    A later answer may be another one, where there is a limit or what is made is there already.
    """
    _must_start(seen, runs)
    own = len(runs.requests)
    for place, (request, first) in enumerate(zip(runs.requests, seen.sequence, strict=False)):
        if _is_wrong(first.status, request):
            raise _wrong_answer(runs, request, first, seen)
        in_order = {each.status for each in seen.sequence[place::own]}
        at_once = [each for each in seen.at_once[place] - in_order if each >= FIRST_SERVER_ERROR]
        if at_once and _is_wrong(at_once[0], request):
            raise _wrong_answer(runs, request, Answer(status=at_once[0]), seen)


def _wrong_answer(
    runs: Runs, request: Mapping[str, Any], answer: Answer, seen: Seen
) -> AppCheckError:
    name, where = _name(request), "on one loop"
    if _takes_websocket(runs, request):
        what = f"{name} {where}: a WebSocket route: it answers no request of HTTP"
        advice = "Leave it out: it takes connections of another kind, which are not checked"
    else:
        words = next(iter(seen.exceptions), answer.body[:WORDS].decode(errors="replace"))
        what = f"{name} is answered with status {answer.status} {where}: {words}"
        advice = "Name the requests with --requests, and the right `status` of each."
    return AppCheckError(f"{hide(what, runs.secrets)}\n{advice}")


def _takes_websocket(runs: Runs, request: Mapping[str, Any]) -> bool:
    """Whether the path of a request is one of a WebSocket."""
    path = request.get("path") or "/"
    return runs("processes", 1, Sending(), websocket=path).facts.get(WEBSOCKET) == "accepted"


def _must_start(seen: Seen, runs: Runs) -> None:
    """Raise `AppCheckError` if the application does not start, does not answer, or does not live
    on.
    """
    if crash := fatal(seen.text):
        raise AppCheckError(f"the application crashes on one loop: {crash}")
    if found := _unanswered(seen):
        place, failure = found
        what = _name(runs.requests[place]) + " on one loop: "
        raised = next(iter(seen.exceptions), "")
        what += f"{raised}; the client saw: {failure}" if raised else failure
        raise AppCheckError(
            f"{hide(what, runs.secrets)}\nIt must answer on one loop before several can be checked."
        )
    if ENDED in seen.failure:
        raise AppCheckError("the application ends its process on one loop, without a message")
    if seen.outcome == HUNG:
        raise AppCheckError(f"the application hangs on one loop{stuck(seen.text)}")
    if seen.outcome != "measured":
        lines = [line.strip() for line in seen.text.strip().splitlines()]
        reason = seen.failure or (lines[-1] if lines else seen.outcome)
        raise AppCheckError(f"the application does not start on one loop: {reason}")


def _declined(requests: Sequence[Mapping[str, Any]], alone: Sequence[Seen]) -> Iterator[str]:
    """The requests that are not compared as they are, where they are sent at once."""
    for place, request in enumerate(requests):
        statuses = sorted({each for run in alone for each in run.at_once[place]})
        usual = {each.status for run in alone for each in run.sequence[place :: len(requests)]}
        declined = [each for each in statuses if _is_wrong(each, request) and each not in usual]
        if declined:
            yield (
                f"{_name(request)} where requests are sent at once, without the cookies of earlier "
                f"answers: it is answered {listed(declined)} on one loop, too"
            )


def _is_wrong(status: int, request: Mapping[str, Any]) -> bool:
    right = request.get("status")
    return status != right if right else status >= FIRST_ERROR


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


def _without(secrets: Collection[str], finding: Finding) -> Finding:
    """The finding without cookies and tokens."""
    return msgspec.structs.replace(
        finding, request=hide(finding.request, secrets), message=hide(finding.message, secrets)
    )


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
    runs = Runs(child, parameters, requests, loop)
    seen = runs("processes", 1, Sending(worker_of=always(0), length=len(requests)))
    _must_start(seen, runs)
    return [each[0] for each in seen.answers if each]
