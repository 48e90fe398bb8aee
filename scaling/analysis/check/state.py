"""State that lives in one process: the same requests, in order, one by one, over two workers.

The baseline is the whole sequence in fresh single processes, compared position by position: fields
that differ there are volatile (a time, a random value, a row that exists the second time). Then
the sequence goes to two workers, in passes that together part each pair of requests once. An answer
that differs there in every try, and never where one of the two workers gets all requests, depends
on which worker got an earlier request.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from scaling.analysis.check.answers import Answer, Difference, Reference
from scaling.analysis.check.causes import BY_KIND
from scaling.base.formats import listed, plural
from scaling.base.models import THREADS, is_mixed, model_of, workers_each
from scaling.journal.check_file import Finding

PAIR = 2  # workers that the sequence is divided among
UNTRIED = "Processes need a database, or sticky connections"  # the remedy if threads were not tried
OTHERS_NAMED = 4  # requests in a message besides the first

type Split = dict[int, Difference]  # by position in the sequence


def in_words(model: str) -> str:
    """`fresh processes`, `forked processes of 2 threads`."""
    if model == THREADS:
        return THREADS
    kind = "forked" if model_of(model).forks else "fresh"
    return f"{kind} processes{f' of {workers_each(model, 0)} threads' if is_mixed(model) else ''}"


def passes(requests: int) -> int:
    """The number of passes that part each pair of `requests` once, or one request from itself."""
    return max(1, (requests - 1).bit_length())


def worker_of(position: int, requests: int, number: int) -> int:
    """The worker that gets a position of the sequence in a pass: by a bit of the request's place.

    Each repetition of the list goes the other way round, so that a request and its repetition are
    parted, too.
    """
    repetition, place = divmod(position, requests)
    return (place >> number) + repetition & 1


def in_turn(position: int, requests: int, workers: int) -> int:
    """The worker that gets a position of the sequence where each request comes to all in turn."""
    repetition, place = divmod(position, requests)
    return (place + repetition) % workers


class Baseline:
    """The baseline answers of each position: `runs` of the sequence by one worker, equally long.

    `requests` is the number of requests in the list. A field of a request that is volatile at one
    position is volatile at all of them: one of few values may come twice.
    """

    def __init__(self, requests: int, runs: Iterable[Sequence[Answer]]) -> None:
        self.runs = list(runs)
        self._requests = requests
        self._references: list[Reference] = []

    def add(self, run: Sequence[Answer]) -> None:
        """Add another run in which one worker got all requests."""
        self.runs.append(run)
        self._references = []

    def differences(self, run: Sequence[Answer]) -> dict[int, Difference]:
        """The differences of a run from the baseline, by position."""
        if not self._references:
            self._references = [Reference(each) for each in zip(*self.runs, strict=False)]
            for place in range(self._requests):
                own = self._references[place :: self._requests]
                volatile = {name for each in own for name in each.volatile}
                for each in own:
                    each.volatile = volatile
        found = enumerate(map(Reference.difference, self._references, run))
        return {position: each for position, each in found if each}

    def in_all(self, runs: Iterable[Sequence[Answer]]) -> dict[int, Difference]:
        """The positions at which all of some runs differ, with the difference of the last run."""
        found = [self.differences(run) for run in runs]
        return {
            position: difference
            for position, difference in found[-1].items()
            if all(position in each for each in found)
        }


def finding_of_state(
    requests: Sequence[str], lost: Mapping[str, Split], kept: Collection[str], raised: str = ""
) -> Finding:
    """The finding of lost state; `requests` are the names of the requests.

    `lost` has the differences of each model that loses state, threads included; the models `kept`
    lose none. `raised` is an exception of the same runs.
    """
    position, difference = min(
        ((min(split), split[min(split)]) for split in lost.values()), key=lambda each: each[0]
    )
    first = requests[position % len(requests)]
    names = {requests[each % len(requests)]: None for split in lost.values() for each in split}
    names.pop(first)
    others = list(islice(names, OTHERS_NAMED))
    if more := len(names) - len(others):
        others.append(plural(more, "more request"))
    too = f" ({listed(others)}, too)" if others else ""
    keeps = "worker" if "threads" in lost else "process"
    where = "processes" if {"processes", "forked"} <= lost.keys() else None
    where = where or listed(in_words(each) for each in lost if each != THREADS)
    where += " and on several loops in threads" if "threads" in lost else ""
    return Finding(
        kind="state-in-process",
        request=first,
        message=f"In {where} `{first}` is {difference.instead}{too}: "
        f"this state lives in one {keeps}{f'; {raised}' if raised else ''}",
        remedy=_what_to_do(lost, kept),
        models=tuple(sorted(lost, key=lambda each: each == THREADS)),
    )


def _what_to_do(lost: Collection[str], kept: Collection[str]) -> str:
    if "threads" in lost:
        return "Keep it in a database, or in one object that all loops of a process share"
    if "forked" in kept:
        keep = (
            "Threads and forked processes keep it" if "threads" in kept else "Forked ones keep it"
        )
        return (
            "Each process makes its own when it is imported: read it from the environment or a "
            f"file. {keep}"
        )
    return BY_KIND["state-in-process"].remedy if "threads" in kept else UNTRIED
