"""Does the application keep state in its process? Its requests go to two workers, in order.

What is looked for, and why it is one of these, is in `scaling.analysis.check.state`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from scaling.analysis.check.answers import Answer, Difference
from scaling.analysis.check.findings import FIRST_SERVER_ERROR, Judge, Seen
from scaling.analysis.check.state import (
    PAIR,
    Baseline,
    Split,
    finding_of_state,
    in_words,
    passes,
    worker_of,
)
from scaling.base.models import THREADS, is_mixed, workers_each
from scaling.journal.check_file import Finding
from scaling.run.check.client import Sending, WorkerOf, always
from scaling.run.check.runs import OutOfTimeError, Runs

ROUNDS = 3  # in which what differs is tried again, beside runs with all requests at one worker,
FEWEST_ROUNDS = 2  # where time runs out
MOST_PASSES = 2  # that are tried again
CANNOT_FORK = "imports start threads"  # what the host says (workers/host/models.py)


@dataclass
class StateCheck:
    """Sends the sequence of the baseline to two workers, in one model after the other.

    `length` is how many requests it has. `left_out` says what was not checked.
    """

    runs: Runs
    names: Sequence[str]
    judge: Judge
    baseline: Baseline
    models: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _lost: dict[str, Split] = field(default_factory=dict)
    _raised: list[str] = field(default_factory=list)

    @property
    def length(self) -> int:
        """The number of requests in the sequence."""
        return min(map(len, self.baseline.runs))

    def findings(self, models: Iterable[str]) -> list[Finding]:
        """Findings where these models of processes do not answer as one process does."""
        found = []
        kept: list[str] = []
        for model in models:
            try:
                found += self._of_model(model)
                if self._lost.keys() == {model}:  # the first
                    kept += self._kept_by_threads()
            except OutOfTimeError as error:
                self.left_out.append(f"{in_words(model)}: {error}")
        if self._lost:
            kept += [each for each in self.models if each not in self._lost]
            raised = next(iter(self._raised), "")
            found.append(finding_of_state(self.names, self._lost, kept, raised))
        return found

    def _of_model(self, model: str) -> list[Finding]:
        tried: dict[int, list[Sequence[Answer]]] = {}
        for number in range(passes(len(self.names))):
            run = self._split(model, number)
            if _ended(run):
                run = self._split(model, number)
            if _ended(run):
                return self._of_failure(model, run)
            if differing := self.baseline.differences(run.sequence):
                tried[number] = [run.sequence]
                if any(run.sequence[at].status >= FIRST_SERVER_ERROR for at in differing):
                    self._raised += self.judge.new_exceptions(run)
        if lost := self._tried_again(model, tried):
            self._lost[model] = lost
        self.models.append(model)
        return []

    def _of_failure(self, model: str, run: Seen) -> list[Finding]:
        """The findings of two workers that do not start, or do not answer."""
        if CANNOT_FORK in run.failure:
            self.left_out.append(f"{in_words(model)}: {run.failure.partition(': ')[2]}")
            return []
        self.models.append(model)
        failed = [[each for each in answers if each.failure] for answers in run.answers]
        of_answers = self.judge.of_the_answers(replace(run, answers=failed))
        return list(dict([*of_answers, *self.judge.of_the_run(run)]).values())

    def _tried_again(self, model: str, tried: dict[int, list[Sequence[Answer]]]) -> Split:
        """Differences in every try: each pass is tried again, in turn with runs in which one of
        the two workers gets all requests. What is proven in another model is tried once more.
        """
        chosen = self._most_telling(tried)
        proven = {position for split in self._lost.values() for position in split}
        once = self._differing(tried, chosen).keys() <= proven
        done = 0
        try:
            while chosen and done < (1 if once else ROUNDS):
                if not once:
                    self.baseline.add(self._run(model, always(done % PAIR)).sequence)
                for number in chosen:
                    tried[number].append(self._split(model, number).sequence)
                chosen = [each for each in chosen if self.baseline.in_all(tried[each])]
                done += 1
        except OutOfTimeError as error:
            if done < FEWEST_ROUNDS:
                raise OutOfTimeError(f"answers differed once, and {error} to try again") from None
        return self._differing(tried, chosen)

    def _differing(
        self, tried: Mapping[int, list[Sequence[Answer]]], chosen: Iterable[int]
    ) -> dict[int, Difference]:
        """Differences in all tries of any of these passes."""
        found: dict[int, Difference] = {}
        for number in chosen:
            found = self.baseline.in_all(tried[number]) | found
        return found

    def _most_telling(self, tried: dict[int, list[Sequence[Answer]]]) -> list[int]:
        """The passes in which most requests differ, each with some that those before have not."""
        found = {
            number: {position % len(self.names) for position in self.baseline.in_all(runs)}
            for number, runs in tried.items()
        }
        chosen: list[int] = []
        seen: set[int] = set()
        while len(chosen) < MOST_PASSES:
            best = max(found, key=lambda each: len(found[each] - seen), default=None)
            if best is None or found[best] <= seen:
                break
            chosen.append(best)
            seen |= found[best]
        return chosen

    def _kept_by_threads(self) -> list[str]:
        """Threads, if they keep what processes lose; what they lose, too, is noted."""
        positions = {each for split in self._lost.values() for each in split}
        lost: dict[int, Difference] = {}
        try:
            for number in range(passes(len(self.names))):
                tried = [self._split(THREADS, number).sequence]
                if self.baseline.differences(tried[0]):
                    tried.append(self._split(THREADS, number).sequence)
                lost |= self.baseline.in_all(tried)
        except OutOfTimeError as error:
            self.left_out.append(f"whether threads keep what processes lose: {error}")
            return []
        if found := {at: each for at, each in lost.items() if at in positions}:
            self._lost[THREADS] = found
        return [] if found else [THREADS]

    def _split(self, model: str, number: int) -> Seen:
        """A run in which two workers share the sequence."""
        return self._run(model, partial(worker_of, requests=len(self.names), number=number))

    def _run(self, model: str, who: WorkerOf) -> Seen:
        """A run of two workers; of a mixed model the first ones of two processes get requests."""
        each = workers_each(model, 1) if is_mixed(model) else 1
        sending = Sending(worker_of=lambda position: each * who(position), length=self.length)
        return self.runs(model, PAIR * each, sending)


def _ended(run: Seen) -> bool:
    """Return True if a run failed, or a request had no answer."""
    return run.outcome != "measured" or any(each.failure for each in run.sequence)
