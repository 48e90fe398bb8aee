"""Runs of a check: the application in a fresh process tree each, within the time of the check."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scaling.analysis.check.findings import Seen
from scaling.base.errors import ScalingError
from scaling.journal.record import GilStates, ParameterValue, Record
from scaling.run.check.client import CheckClient, Sending
from scaling.run.child import Child, Run, run_child
from scaling.run.redaction import hide, secrets_in

WORKLOAD = "workers.workloads.check.watched:WatchedApp"
CHECK_S = 90.0  # limit for a check,
LIMIT_S = 60.0  # and for a run that hangs
# Threads of a free-threaded build begin with a copy of the context that starts them, unless this
# is set. At N = 1 it is: then no thread of a pool has the context of an earlier request.
ALONE_IN_IT = {"PYTHON_THREAD_INHERIT_CONTEXT": "0"}
# Nothing is measured: all is sent before the window.
SHORTEST = {"warmup_s": 0.0, "window_s": 0.05, "ticks": 2}


class OutOfTimeError(Exception):
    """The check has no time for a run."""

    def __init__(self, words: str = "no time was left") -> None:
        super().__init__(words)


class Runs:
    """Runs the application with a list of requests, in any model.

    `secrets` are those of the requests, and what cookies of answers held. `parameters` may be
    changed between runs.
    """

    def __init__(
        self,
        child: Child,
        parameters: Mapping[str, ParameterValue],
        requests: Sequence[Mapping[str, Any]],
        loop: str,
    ) -> None:
        self.parameters: dict[str, ParameterValue] = {**parameters, "server": "loops"}
        self.requests = requests
        self.secrets = set(secrets_in(requests))
        self._child = child
        self._loop = loop
        self._until = time.monotonic() + CHECK_S
        self._took_s: dict[tuple[str, Sending], float] = {}

    def __call__(
        self,
        model: str,
        workers: int,
        sending: Sending,
        *,
        inherit: bool = True,
        **parameters: ParameterValue,
    ) -> Seen:
        """Run it once; `inherit`: threads begin with the context of the thread that starts them.

        Raises:
            OutOfTimeError: there is no time left for it.
            ScalingError: the client that sends the requests ended or hangs.
        """
        began = time.monotonic()
        left_s = self._until - began
        kind = model, replace(sending, worker_of=None)
        if left_s < self._took_s.get(kind, 0.0):
            raise OutOfTimeError
        cell = {
            "workload": WORKLOAD,
            "parameters": {
                **self.parameters,
                "untouched": True,
                "together": sending.first,
                **parameters,
            },
            "loop": self._loop,
            **SHORTEST,
            "model": model,
            "workers": workers,
        }
        variables = {**self._child.environment, **({} if inherit else ALONE_IN_IT)}
        limit_s = min(LIMIT_S, left_s)
        seen = self._seen(replace(self._child, environment=variables), cell, sending, limit_s)
        if seen.outcome == "timed-out" and limit_s < LIMIT_S:
            raise OutOfTimeError
        self._took_s[kind] = time.monotonic() - began
        return seen

    def _seen(
        self, child: Child, cell: Mapping[str, Any], sending: Sending, limit_s: float
    ) -> Seen:
        client = CheckClient(self.requests, sending)
        ending = run_child(Run(child, cell, limit_s, client=client, secrets=self.secrets))
        self.secrets |= client.secrets or set()
        if client.failure:  # so nothing is known of the application
            raise ScalingError(
                f"{hide(client.failure, self.secrets)}.\n"
                "The application was not checked: run the same command again"
            )
        record, answers = ending.record, client.seen
        ended_by_us = answers.given_up and ending.outcome == "failed"
        failure = record.failure if record and not ended_by_us else None
        return Seen(
            workers=cell["workers"],
            model=cell["model"],
            outcome="measured" if ended_by_us else ending.outcome,
            answers=answers.answers,
            sequence=answers.sequence,
            at_once=answers.at_once,
            unsaved=answers.unsaved,
            failure=failure.error if failure else "",
            text=ending.stderr + (failure.traceback if failure else ""),
            samples=[words for each in record.workers for words in each.error_samples]
            if record
            else (),
            facts=record.facts if record else {},
            gil=list(_gil(record)) if record else (),
        )


def _gil(record: Record) -> Iterator[GilStates]:
    yield record.process.gil
    yield from (each.process.gil for each in record.workers if each.process)
