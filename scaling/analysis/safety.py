"""Whether an application is safe on several loops: its answers there against those on one loop.

What is wrong with it is one of the faults of `scaling.analysis.causes`.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scaling.analysis.causes import BY_KIND, CAUSES, RAISED, Cause, cause_of, fatal, raised
from scaling.journal.beside import KINDS, AppCheck, Finding, Kind
from scaling.journal.record import GilStates, Outcome

# ------------------------------------------------------------------------------------------ answers
# Whether one answer differs from those that it may give: all that it gave at N = 1.
#
# An answer is taken apart into fields: the status, each header, and each value of its body (JSON by
# value, text by line). A field that differs between answers at N = 1 is volatile: it says nothing.

# They say when and how an answer was sent, not what it is.
OF_THE_TRANSPORT = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}
)
SHOWN = 60  # letters of a value in a message


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it came. Without one, `status` is 0 and `failure` says what happened.

    Headers have names in lower case, in the order in which they came.
    """

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    failure: str = ""


@dataclass(frozen=True)
class Difference:
    """A field of an answer that is not as at N = 1; `value` is None where it is missing."""

    field: str
    value: str | None
    words: str


class Reference:
    """All that a request was answered at N = 1: what its answers may be."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._values: dict[str, set[str]] = {}
        counted: dict[str, int] = {}
        count = 0
        for answer in answers:
            count += 1
            for name, value in fields(answer):
                self._values.setdefault(name, set()).add(value)
                counted[name] = counted.get(name, 0) + 1
        self._always = {name for name, found in counted.items() if found == count}

    def difference(self, answer: Answer) -> Difference | None:
        """The first field that is none of those at N = 1; None if all are."""
        if answer.failure:
            return Difference("answer", None, answer.failure)
        found = dict(fields(answer))
        for name, value in found.items():
            known = self._values.get(name)
            if known is None:
                if not self._varies_above(name):
                    return Difference(name, value, f"{_shown(name, value)}, and not there")
            elif value not in known and not self.is_volatile(name):
                before = _short(next(iter(known)))
                return Difference(name, value, f"{_shown(name, value)}, and {before}")
        for name in self._values:
            if name in self._always and name not in found and not self._varies_above(name):
                before = _short(next(iter(self._values[name])))
                return Difference(name, None, f"{name} is missing, and {before}")
        return None

    def is_volatile(self, name: str) -> bool:
        """Whether a field differs between answers at N = 1."""
        return len(self._values.get(name, ())) > 1 or name not in self._always

    def allows(self, difference: Difference) -> bool:
        """Whether a value is one of this request's: that of another one, if it differs there."""
        return difference.value in self._values.get(difference.field, ())

    def _varies_above(self, name: str) -> bool:
        """Whether a list or an object that a field is in changes its length or its keys."""
        while name:
            name = name.rpartition("/")[0]
            if f"{name}/#" in self._values and self.is_volatile(f"{name}/#"):
                return True
        return False


def fields(answer: Answer) -> Iterator[tuple[str, str]]:
    """Names and values of an answer's fields, all as text."""
    yield "status", str(answer.status)
    headers: dict[str, list[str]] = {}
    for name, value in answer.headers:
        if name not in OF_THE_TRANSPORT:
            headers.setdefault(name, []).append(value)
    for name, values in headers.items():
        yield f"header {name}", ", ".join(values)
    yield from _fields_of_body("body", _decoded(answer.body))


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:
        lines = body.decode().splitlines()
    except UnicodeDecodeError:
        return hashlib.sha256(body).hexdigest()
    return lines if len(lines) > 1 else body.decode()


def _fields_of_body(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield f"{name}/#", f"keys {', '.join(sorted(value))}"
        for key, each in value.items():
            yield from _fields_of_body(f"{name}/{key}", each)
    elif isinstance(value, list):
        yield f"{name}/#", f"length {len(value)}"
        for place, each in enumerate(value):
            yield from _fields_of_body(f"{name}/{place}", each)
    else:
        yield name, json.dumps(value, ensure_ascii=False)


def _shown(name: str, value: str) -> str:
    return f"{name.removesuffix('/#')} {'has' if name.endswith('/#') else 'is'} {_short(value)}"


def _short(value: str) -> str:
    return value if len(value) <= SHOWN else f"{value[:SHOWN]}…"


# ----------------------------------------------------------------------------------------- findings
# From what an application did at N = 1 and at more to what is wrong with it.

FIRST_SERVER_ERROR = 500
# What shared state does to answers, whatever shares it.
OF_SHARED_STATE: tuple[Kind, ...] = ("mixed-up", "error", "differs")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one run of the application showed.

    `answers` are those of each request, in the order of the set. `failure` says why the run failed,
    `text` is what it wrote, tracebacks among it; `samples` are words of exceptions without a place.
    `noted` are faults that were seen inside the process, by kind. `gil` are the states of each of
    its processes.
    """

    workers: int
    outcome: Outcome = "measured"
    answers: Sequence[Sequence[Answer]] = ()
    failure: str = ""
    text: str = ""
    samples: Sequence[str] = ()
    noted: dict[str, str] = field(default_factory=dict)
    gil: Sequence[GilStates] = ()

    def exceptions(self) -> list[str]:
        """Words of all its exceptions, those with a place first, each once."""
        samples = filter(RAISED.match, self.samples)  # a status of 400 or more is there, too
        return list(dict.fromkeys([*raised(self.text), *filter(None, [self.failure]), *samples]))


def judge(
    requests: Sequence[str],
    alone: Sequence[Seen],
    several: Sequence[Seen],
    first: Sequence[Seen] = (),
) -> AppCheck:
    """Compare runs at N = 1 with runs of several loops; `requests` are the names of the set.

    Of each kind the first finding is kept, and of those that an answer shows, the first of each
    request. In the runs `first` each request came first to all loops at once: what goes wrong only
    there is built by the first request.
    """
    references = [
        Reference(answer for run in alone for answer in run.answers[place])
        for place in range(len(requests))
    ]
    found: dict[tuple[Kind, str], Finding] = {}
    for run in [*alone, *several]:
        for finding in _of_the_run(run):
            found.setdefault((finding.kind, ""), finding)
    for run in several:
        for finding in _of_the_answers(run, requests, references):
            key = finding.kind, "" if BY_KIND[finding.kind].words else finding.request
            before = found.get(key)
            if before is None or not before.request:
                found[key] = finding
    known_kinds = {each.kind for each in found.values()}
    # What makes later answers wrong may do so at first in another way.
    explained = any(each.request for each in found.values())
    for run in first:
        for finding in [*_of_the_run(run), *_of_the_answers(run, requests, references)]:
            lazily = finding.kind in OF_SHARED_STATE
            if finding.kind not in known_kinds and not (lazily and explained):
                known = relabelled(finding, "built-lazily") if lazily else finding
                found.setdefault((known.kind, ""), known)
    findings = sorted(found.values(), key=lambda each: KINDS.index(each.kind))
    return AppCheck(ok=not findings, findings=findings)


def relabelled(finding: Finding, kind: Kind) -> Finding:
    """The same finding as one of another kind, with the remedy of that."""
    return msgspec.structs.replace(finding, kind=kind, remedy=BY_KIND[kind].remedy)


def _of_the_run(run: Seen) -> Iterator[Finding]:
    """What shows in the run as a whole."""
    for kind, words in run.noted.items():
        yield from (_finding(each, words) for each in CAUSES if each.kind == kind)
    if words := _gil(run.gil):
        yield _finding(BY_KIND["gil-enabled"], words)
    for words in run.exceptions():
        if cause := cause_of(words):
            yield _finding(cause, f"{_at(run)}: {words}")
    if run.outcome != "measured" and not any(map(cause_of, run.exceptions())):
        yield _finding(BY_KIND[_ended(run)], f"{_at(run)}: {_last(run) or run.outcome}")


def _of_the_answers(
    run: Seen, requests: Sequence[str], references: Sequence[Reference]
) -> Iterator[Finding]:
    """What shows in the answers: of each request, the first of each kind."""
    for place, answers in enumerate(run.answers):
        kinds = set()
        for answer in answers:
            difference = references[place].difference(answer)
            ended = answer.failure and run.outcome != "measured"  # which has its own finding
            if difference is None or ended:
                continue
            others = [each for each in references if each is not references[place]]
            cause, words = _why(run, answer, difference, others)
            if cause.kind not in kinds:
                kinds.add(cause.kind)
                yield _finding(cause, f"{_at(run)}: {words}", requests[place])


def _why(
    run: Seen, answer: Answer, difference: Difference, others: Iterable[Reference]
) -> tuple[Cause, str]:
    if answer.status >= FIRST_SERVER_ERROR or answer.failure:
        exceptions = run.exceptions()
        for words in exceptions:
            if cause := cause_of(words):
                return cause, words
        if answer.failure:
            return BY_KIND["no-answer"], answer.failure
        return BY_KIND["error"], exceptions[0] if exceptions else f"status {answer.status}"
    words = f"{difference.words} at N = 1"
    if difference.value is not None and any(each.allows(difference) for each in others):
        return BY_KIND["mixed-up"], f"the answer is that of another request: {words}"
    return BY_KIND["differs"], words


def _gil(states: Iterable[GilStates]) -> str:
    for each in states:
        if each.started is False and any(each.seen):
            by = each.enabled_by or "an import"
            return f"{by} turns the GIL on: threads run one at a time, and are no faster than one"
    return ""


def _ended(run: Seen) -> Kind:
    ends: dict[str, Kind] = {"failed": "failed-to-start", "timed-out": "no-answer"}
    return ends.get(run.outcome, "crashed")


def _last(run: Seen) -> str:
    exceptions = [*filter(None, [fatal(run.text)]), *run.exceptions()]
    lines = run.text.strip().splitlines()
    return exceptions[0] if exceptions else lines[-1] if lines else ""


def _at(run: Seen) -> str:
    return f"{run.workers} loops in threads" if run.workers > 1 else "one loop"


def _finding(cause: Cause, message: str, request: str = "") -> Finding:
    return Finding(kind=cause.kind, request=request, message=message, remedy=cause.remedy)
