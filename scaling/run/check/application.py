"""Is an application safe on N loops? Its answers on one loop against those of several.

Its requests go to one loop in two fresh processes, which is the baseline; to several loops in
threads; to two processes, fresh and forked; and first of all to all loops at once.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from scaling.analysis.check.evidence import is_cause
from scaling.analysis.check.findings import OF_SHARED_STATE, Judge, Seen
from scaling.analysis.check.state import Baseline, in_turn
from scaling.base.formats import listed, plural
from scaling.base.models import PROCESSES, THREADS
from scaling.journal.check_file import KINDS, NOTED_ONLY, AppCheck, Finding, Kind
from scaling.journal.record import ParameterValue
from scaling.run.check.client import Sending
from scaling.run.check.one_loop import (
    AppCheckError,
    baseline,
    declined,
    name_of,
    unanswered,
)
from scaling.run.check.runs import CHECK_S, OutOfTimeError, Runs
from scaling.run.check.state import StateCheck
from scaling.run.child import Child
from scaling.run.redaction import hide

LOOPS = (2, 4)  # N to compare with N = 1
MODELS = PROCESSES if sys.platform.startswith("linux") else PROCESSES[:1]  # others do not fork
TOGETHER_S = 2.0  # in which requests are sent at once
FIRSTS = 5  # fresh processes, in each of which every request comes first to all loops at once


def check_application(
    child: Child,
    parameters: Mapping[str, ParameterValue],
    requests: Sequence[Mapping[str, Any]] = ({"path": "/"},),
    *,
    workers: Sequence[int] = LOOPS,
    models: Sequence[str] = MODELS,
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
        alone = baseline(runs)
        return Check(runs, alone, workers).result(models)
    except OutOfTimeError:
        raise AppCheckError(
            f"the application is so slow that nothing can be compared in {CHECK_S:.0f} s. "
            "Name fewer requests with --requests, or leave the check out with --no-check"
        ) from None


class Check:
    """One check, after the runs on one loop.

    Raises:
        OutOfTimeError: there is no time for any number of loops in threads.
    """

    def __init__(self, runs: Runs, alone: Sequence[Seen], workers: Sequence[int]) -> None:
        self._runs = runs
        self._names = [name_of(each) for each in runs.requests]
        self._alone = alone
        self._judge = Judge(self._names, alone, factory=bool(runs.parameters.get("factory")))
        self._left_out = list(declined(runs.requests, alone))
        self._several: list[Seen] = []
        for count in workers:
            try:
                self._several.append(self._in_threads(count))
            except OutOfTimeError as error:
                if not self._several:
                    raise
                self._left_out.append(f"{count} loops in threads: {error}")

    def result(self, models: Sequence[str]) -> AppCheck:
        """The result, with these models of processes looked at, too."""
        sequences = Baseline(len(self._names), [each.sequence for each in self._alone])
        state = StateCheck(self._runs, self._names, self._judge, sequences)
        of_processes = state.findings(models)
        found = self._with_inherited(self._judge.findings(self._several, self._first()))
        findings = sorted([*found, *of_processes], key=lambda each: KINDS.index(each.kind))
        threads = [THREADS] if self._several else []
        return AppCheck(
            ok=all(each.kind in NOTED_ONLY for each in findings),
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
            while most and not any(map(unanswered, self._several)) and len(found) < FIRSTS:
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
    """The suspects that come from an inherited context, by trying without and with it.

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


def _without(secrets: Collection[str], finding: Finding) -> Finding:
    """The finding without cookies and tokens."""
    return msgspec.structs.replace(
        finding, request=hide(finding.request, secrets), message=hide(finding.message, secrets)
    )
