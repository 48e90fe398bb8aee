"""The client of a check: has the requests of one run sent, and keeps their answers.

It takes the place of the load generator, whose connections it has: all is sent before the window,
while the child waits.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scaling.analysis.check.answers import Answer
from scaling.builds.environments import own_environment
from scaling.run.load_client import Client, LoadError
from scaling.run.probe import Phase
from scaling.run.redaction import spellings

MODULE = "workers.services.load.client"
FEWEST = 8  # requests in a sequence: a short list is repeated more than twice
AGAIN_S = 2.0  # limit for repetitions of the list in a sequence whose length is open
ANSWER_S = 4.0  # limit for an answer; after a missing one it gives up
LAST_ANSWERS_S = 20.0  # from its order to stop to its answers, which may be 64 MiB

type WorkerOf = Callable[[int], int]  # the worker that gets the request at a position


def always(worker: int) -> WorkerOf:
    """Return the choice of one worker for all requests."""
    return lambda _: worker


@dataclass(frozen=True, kw_only=True)
class Sending:
    """The requests of one run, part after part.

    First a sequence: the list of requests again and again, each request once the one before it is
    answered, by one client that keeps its cookies and what it saves; `worker_of` says which worker
    gets it. `length` is how many requests that are; None: the list `repeated`, at least once, as
    time allows. Then requests at once for `together_s`, or with `first` each once, to all workers
    at one instant.
    """

    worker_of: WorkerOf | None = None
    length: int | None = None
    repeated: int = 2
    together_s: float = 0.0
    first: bool = False

    def document(self, requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The order to the program, without the URLs."""
        length = self.length
        if length is None:
            length = max(self.repeated * len(requests), FEWEST)
        return {
            "requests": requests,
            "order": [self.worker_of(each) for each in range(length)] if self.worker_of else [],
            "again_s": AGAIN_S if self.length is None else None,
            "first": self.first,
            "together_s": self.together_s,
            "answer_s": ANSWER_S,
        }


class Answers(msgspec.Struct):
    """The answers of one run: those of the sequence by position, and the different ones of each
    request, in the order in which they first came.

    `at_once` are the statuses of each request where several were sent at once. `unsaved` has the
    missing part of first answers, by the place of the request. `given_up`: a request had no answer.
    """

    answers: list[list[Answer]]
    at_once: list[set[int]]
    sequence: list[Answer] = []
    unsaved: dict[int, str] = {}
    given_up: bool = False
    secrets: list[str] = []


class CheckClient(Client):
    """The client of one run; `seen` has the answers.

    `failure` are the words for an end of the client that nobody asked for; else empty.
    """

    def __init__(self, requests: Sequence[Mapping[str, Any]], sending: Sending) -> None:
        super().__init__("the client of the check", sys.executable, MODULE, own_environment())
        self._asked = sending.document(requests)
        self._is_told = False
        self.failure = ""
        self.seen = Answers([[] for _ in requests], [set() for _ in requests])

    async def at(self, phase: Phase) -> dict[str, Any]:
        """Send everything when the workers answer; the workload's own requests are not used."""
        if phase.name == "serving":
            sending = asyncio.create_task(self._send_all(phase.facts["urls"]))
            try:
                await asyncio.wait((sending,))  # a shield prints a failure that follows a cancel
            finally:  # once it is told to stop, it prints what came until then
                await asyncio.wait((sending,), timeout=LAST_ANSWERS_S)
                if not sending.done():
                    self.failure = f"{self._name} did not stop in {LAST_ANSWERS_S:g} s: it hangs"
                    self.kill()
                    await asyncio.wait((sending,))
                sending.exception()  # what nobody asks for is printed
            sending.result()
        return {}

    async def _send_all(self, urls: Sequence[str]) -> None:
        self.secrets = None
        try:
            await self._send({**self._asked, "urls": urls})
            self.seen = msgspec.json.decode(await self._line(None), type=Answers)
        except (LoadError, msgspec.MsgspecError) as error:
            self.failure = self.failure or ("" if self._is_told else str(error))
            raise
        self.secrets = spellings(self.seen.secrets)
        if self.seen.given_up:  # so the servers may hang: the run is of no more use
            raise LoadError("a request was not answered")

    def stop(self) -> None:
        """Have it send no more, and print what came."""
        self._is_told = True
        if self._process:
            self._process.terminate()
