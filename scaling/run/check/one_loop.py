"""The baseline of a check: runs on one loop, in which the application must work."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scaling.analysis.check.answers import LATE, Answer
from scaling.analysis.check.exceptions import fatal, stuck
from scaling.analysis.check.findings import FIRST_SERVER_ERROR, Seen
from scaling.base.errors import ScalingError
from scaling.base.formats import listed
from scaling.journal.record import ParameterValue
from scaling.run.app_requests import WEBSOCKET
from scaling.run.check.client import Sending, always
from scaling.run.check.runs import OutOfTimeError, Runs
from scaling.run.child import Child
from scaling.run.redaction import hide

ALONE = 2  # runs at N = 1: what differs between them is volatile
ALONE_S = 0.7  # in which requests are sent at once
AUTO = "auto"  # what finds out whether an application has a lifespan
FIRST_ERROR = 400
SWITCHED = 101  # the status of an answer that makes a WebSocket of a connection
# Words of the host for a worker whose process is gone (workers/channel.py).
ENDED = "ended without reporting why"
# Words for an application that does not get ready (workers/workloads/parts/first_request.py).
HUNG = "timed-out"
NOT_READY = "is --health the right path?"
WORDS = 200  # bytes of a body in a message
WITHOUT_WEBSOCKETS = "No supported WebSocket library detected"  # uvicorn's words


class AppCheckError(ScalingError):
    """The application does not work on one loop; the message says why."""

    exit_code = 2


def baseline(runs: Runs) -> list[Seen]:
    """The runs of the baseline, each in a process of its own.

    Code of the application that needs the main thread works there.
    """
    sending = Sending(worker_of=always(0), together_s=ALONE_S)
    first = None
    if runs.parameters.get("lifespan", AUTO) == AUTO:
        # With `auto`, a lifespan that fails on several loops would pass for none.
        runs.parameters["lifespan"] = "on"
        first = runs("processes", 1, sending, inherit=False)
        ended = first.outcome in ("measured", HUNG) or unanswered(first)
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
        if words := seen.unsaved.get(place) or _other_messages(first, request):
            raise AppCheckError(f"{_in_file(request)} on one loop: {words}")
        in_order = {each.status for each in seen.sequence[place::own]}
        at_once = [each for each in seen.at_once[place] - in_order if each >= FIRST_SERVER_ERROR]
        if at_once and _is_wrong(at_once[0], request):
            raise _wrong_answer(runs, request, Answer(status=at_once[0]), seen)


def _wrong_answer(
    runs: Runs, request: Mapping[str, Any], answer: Answer, seen: Seen
) -> AppCheckError:
    name, where = _in_file(request), "on one loop"
    if WITHOUT_WEBSOCKETS in seen.text:
        what = f"{name} {where}: websockets is not installed where the application runs"
        advice = "Add it with --with websockets, or install it into your own environment."
    elif WEBSOCKET in request:
        what = f"{name} {where}: no WebSocket route: it is answered with status {answer.status}"
        advice = 'Leave it out, or name it as "path" if it answers requests of HTTP.'
    elif _takes_websocket(runs, request):
        what = f"{name} {where}: a WebSocket route: it answers no request of HTTP"
        advice = 'Name it as "websocket" in place of "path", with what to send.'
    else:
        words = next(iter(seen.exceptions), answer.body[:WORDS].decode(errors="replace"))
        what = f"{name} is answered with status {answer.status} {where}: {words}"
        advice = "Name the requests with --requests, and the right `status` of each."
    return AppCheckError(f"{hide(what, runs.secrets)}\n{advice}")


def _takes_websocket(runs: Runs, request: Mapping[str, Any]) -> bool:
    """Return True if the path of a request is one of a WebSocket."""
    path = request.get("path") or "/"
    try:
        seen = runs("processes", 1, Sending(), websocket=path)
    except OutOfTimeError:
        return False
    return seen.facts.get(WEBSOCKET) == "accepted"  # what the child found out


def _must_start(seen: Seen, runs: Runs) -> None:
    """Raise `AppCheckError` if the application does not start, does not answer, or does not live
    on.
    """
    if crash := fatal(seen.text):
        raise AppCheckError(f"the application crashes on one loop: {crash}")
    if found := unanswered(seen):
        place, failure = found
        what = _in_file(runs.requests[place]) + " on one loop: "
        closed = [] if failure.startswith(LATE) else seen.exceptions
        what += f"{closed[0]}; the client saw: {failure}" if closed else failure
        raise AppCheckError(
            f"{hide(what, runs.secrets)}\nIt must answer on one loop before several can be checked."
        )
    if ENDED in seen.failure:
        raise AppCheckError("the application ends its process on one loop, without a message")
    if seen.outcome == HUNG:
        raise AppCheckError(f"the application hangs on one loop{stuck(seen.text)}")
    if seen.outcome != "measured":
        reason = seen.failure or seen.last_words or seen.outcome
        raise AppCheckError(f"the application does not start on one loop: {reason}")


def declined(requests: Sequence[Mapping[str, Any]], alone: Sequence[Seen]) -> Iterator[str]:
    """The requests that are not compared as they are, where they are sent at once."""
    for place, request in enumerate(requests):
        statuses = sorted({each for run in alone for each in run.at_once[place]})
        usual = {each.status for run in alone for each in run.sequence[place :: len(requests)]}
        found = [each for each in statuses if _is_wrong(each, request) and each not in usual]
        if found:
            at_once = "where requests are sent at once, without the cookies of earlier answers"
            yield f"{name_of(request)} {at_once}: it is answered {listed(found)} on one loop, too"


def _is_wrong(status: int, request: Mapping[str, Any]) -> bool:
    right = SWITCHED if WEBSOCKET in request else request.get("status")
    return status != right if right else status >= FIRST_ERROR


def unanswered(seen: Seen) -> tuple[int, str] | None:
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


def name_of(request: Mapping[str, Any]) -> str:
    """`GET /items/7`, `WebSocket /ws`."""
    if WEBSOCKET in request:
        return f"WebSocket {request[WEBSOCKET]}"
    return f"{request.get('method', 'GET')} {request.get('path') or '/'}"


def _in_file(request: Mapping[str, Any]) -> str:
    """`GET /items/7 (line 3)`, if it is from a file."""
    line = request.get("line")
    return f"{name_of(request)} (line {line})" if line else name_of(request)


def _other_messages(answer: Answer, request: Mapping[str, Any]) -> str:
    """Words for a WebSocket that is answered by other messages than the file has; else empty."""
    wanted = request.get("receive", 1)
    if isinstance(wanted, int) or [each.encode() for each in wanted] == [*answer.messages]:
        return ""
    return "the messages that come are not those of receive"


def answers_of(
    child: Child,
    parameters: Mapping[str, ParameterValue],
    requests: Sequence[Mapping[str, Any]],
    *,
    loop: str = "asyncio",
) -> list[Answer]:
    """The first answer of the application to each request on one loop, whatever the status.

    Raises:
        AppCheckError: it does not start.
    """
    runs = Runs(child, parameters, requests, loop)
    seen = runs("processes", 1, Sending(worker_of=always(0), length=len(requests)))
    _must_start(seen, runs)
    return [each[0] for each in seen.answers if each]
