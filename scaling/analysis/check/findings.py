"""Findings of a check: runs of an application on several loops, compared with runs on one loop.

Each finding has a fault of `scaling.analysis.check.causes`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from scaling.analysis.check.answers import BROKEN, Answer, Difference, Reference
from scaling.analysis.check.causes import BY_KIND, CAUSES, Cause, cause_of
from scaling.analysis.check.exceptions import exceptions_of, fatal, raised
from scaling.base.models import workers_in_words
from scaling.journal.check_file import KINDS, Finding, Kind
from scaling.journal.record import GilStates, Outcome

NOTED = "noted "  # a fact with this before the kind of fault
FIRST_SERVER_ERROR = 500
# Faults in answers that any kind of shared state causes.
OF_SHARED_STATE: tuple[Kind, ...] = ("mixed-up", "error", "differs")

type Key = tuple[Kind, str]  # of one fault: its kind, and the exception or the request


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Observations of one run of the application.

    `answers` are the different ones of each request, `sequence` those of the sequence by position.
    `at_once` are the statuses of each request where several were sent at once. `unsaved` names what
    was to be saved of answers and was not in them, by the request's place. `failure` is the reason
    of a failed run, `text` its output with tracebacks; `samples` are words of exceptions without a
    place. `gil` has the states of each process.
    """

    workers: int
    model: str = "threads"
    outcome: Outcome = "measured"
    answers: Sequence[Sequence[Answer]] = ()
    sequence: Sequence[Answer] = ()
    at_once: Sequence[set[int]] = ()
    unsaved: Mapping[int, str] = field(default_factory=dict)
    failure: str = ""
    text: str = ""
    samples: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    gil: Sequence[GilStates] = ()

    @property
    def noted(self) -> dict[str, str]:
        """Faults that the process itself noted, by kind."""
        return {
            name.removeprefix(NOTED): words
            for name, words in self.facts.items()
            if name.startswith(NOTED)
        }

    @cached_property
    def exceptions(self) -> list[str]:
        """Words of all exceptions of the application, those with a place first, each once."""
        return exceptions_of(self.text, self.failure, self.samples)

    @property
    def last_words(self) -> str:
        """The crash, an exception or the last line of output; empty without output."""
        ours = {each.words for each in raised(self.text) if each.is_ours}
        last = self.text.strip().rpartition("\n")[2].strip()
        found = [fatal(self.text), *self.exceptions, "" if last in ours else last]
        return next(filter(None, found), "")

    @property
    def where(self) -> str:
        """`2 loops in threads`, `2 forked processes`."""
        if self.workers == 1:
            return "one loop"
        if self.model == "threads":
            return f"{self.workers} loops in threads"
        return workers_in_words(self.model, self.workers)


class Judge:
    """Comparison of runs with the runs `alone`, on one loop.

    `requests` are the names of the requests; `factory`: a function makes the application.
    """

    def __init__(
        self, requests: Sequence[str], alone: Sequence[Seen], *, factory: bool = False
    ) -> None:
        self._requests = requests
        self._alone = alone
        self._factory = factory
        self._references = [
            Reference(answer for run in alone for answer in run.answers[place])
            for place in range(len(requests))
        ]
        self._known = {words for run in alone for words in run.exceptions}

    def findings(self, several: Sequence[Seen], first: Sequence[Seen] = ()) -> list[Finding]:
        """The faults in runs of several loops, each once, with the first request.

        In the runs `first` each request came first to all loops at once: a fault only there is of
        an object that the first request builds.
        """
        found: dict[Key, Finding] = {}
        for run in [*self._alone, *several]:
            for key, finding in self.of_the_run(run):
                found.setdefault(key, finding)
        for run in several:
            for key, finding in self.of_the_answers(run):
                before = found.get(key)
                if before is None or not before.request:
                    found[key] = finding
        known_kinds = {kind for kind, _ in found}
        # A fault of later answers may show in another way at first.
        explained = any(each.request for each in found.values())
        for run in first:
            for (kind, _), finding in [*self.of_the_run(run), *self.of_the_answers(run)]:
                lazily = kind in OF_SHARED_STATE
                if kind not in known_kinds and not (lazily and explained):
                    known = self.relabelled(finding, "built-lazily") if lazily else finding
                    found.setdefault((known.kind, ""), known)
        return sorted(found.values(), key=lambda each: KINDS.index(each.kind))

    def relabelled(self, finding: Finding, kind: Kind) -> Finding:
        """The finding with another kind, and the remedy of that kind."""
        remedy = BY_KIND[kind].what_to_do(*finding.models[:1], factory=self._factory)
        return msgspec.structs.replace(finding, kind=kind, remedy=remedy)

    def new_exceptions(self, run: Seen) -> list[str]:
        """The words of exceptions that no run on one loop raised."""
        return [words for words in run.exceptions if words not in self._known]

    def of_the_run(self, run: Seen) -> Iterator[tuple[Key, Finding]]:
        """Faults of the run as a whole."""
        for kind, words in run.noted.items():
            for each in CAUSES:
                if each.kind == kind:
                    yield (each.kind, ""), self._finding(each, words, run)
        if words := _gil(run.gil):
            yield ("gil-enabled", ""), self._finding(BY_KIND["gil-enabled"], words, run)
        for words in run.exceptions:
            if cause := cause_of(words):
                yield (cause.kind, ""), self._finding(cause, f"{run.where}: {words}", run)
        if run.outcome != "measured" and not any(map(cause_of, run.exceptions)):
            words = f"{run.where}: {run.last_words or run.outcome}"
            yield (_ended(run), ""), self._finding(BY_KIND[_ended(run)], words, run)

    def of_the_answers(self, run: Seen) -> Iterator[tuple[Key, Finding]]:
        """Faults in the answers: of each request, the first of each kind."""
        for place, answers in enumerate(run.answers):
            seen: set[Key] = set()
            for answer in answers:
                difference = self._references[place].difference(answer)
                ended = answer.failure and run.outcome != "measured"  # which has its own finding
                if difference is None or ended:
                    continue
                others = [each for at, each in enumerate(self._references) if at != place]
                cause, words, fault = self._why(run, answer, difference, others)
                key = (cause.kind, "" if cause.words else fault or self._requests[place])
                if key not in seen:
                    seen.add(key)
                    words = f"{run.where}: {words}"
                    yield key, self._finding(cause, words, run, self._requests[place])

    def _why(
        self, run: Seen, answer: Answer, difference: Difference, others: Iterable[Reference]
    ) -> tuple[Cause, str, str]:
        """The cause, its words, and the exception that shows it; empty without one."""
        if answer.status >= FIRST_SERVER_ERROR or answer.failure:
            seen = answer.failure or f"status {answer.status}"
            raised = self.new_exceptions(run)
            for words in raised:
                if cause := cause_of(words):
                    return cause, words, words
            whole = not answer.failure or answer.failure.startswith(BROKEN)
            if raised and whole:
                return BY_KIND["error"], f"{raised[0]}; the client saw: {seen}", raised[0]
            return BY_KIND["no-answer" if answer.failure else "error"], seen, ""
        if difference.value is not None and any(each.allows(difference) for each in others):
            words = f"the answer is that of another request: {difference.words}"
            return BY_KIND["mixed-up"], words, ""
        return BY_KIND["differs"], difference.words, ""

    def _finding(self, cause: Cause, message: str, run: Seen, request: str = "") -> Finding:
        model = run.model if run.workers > 1 else "threads"
        return Finding(
            kind=cause.kind,
            request=request,
            message=message,
            remedy=cause.what_to_do(model, factory=self._factory),
            models=(model,),
        )


def _gil(states: Iterable[GilStates]) -> str:
    for each in states:
        if each.started is False and any(each.seen):
            by = each.enabled_by or "an import"
            return f"{by} turns the GIL on: threads run one at a time, and are no faster than one"
    return ""


def _ended(run: Seen) -> Kind:
    ends: dict[str, Kind] = {"failed": "failed-to-start", "timed-out": "no-answer"}
    return ends.get(run.outcome, "crashed")
