"""What our server on a worker's loop costs against plain `uvicorn`, which people deploy with.

One process each, with the same application, loop and parser, loaded in the same way by a closed
loop. Rounds of fresh processes, whose order alternates. Ours counts each answer; uvicorn is
measured from outside. CPU time per request is that of the loop's thread, and of uvicorn's process.
"""

import os
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.figure import Effort, Figure
from tests.support.serving import served

TARGET = 0.97
CONNECTIONS = 16
ROUNDS = 3  # for each pair of the effort: a machine with two cores is noisy
APPLICATIONS = {
    "raw ASGI": """
        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                for _ in ("startup", "shutdown"):
                    event = (await receive())["type"]
                    await send({"type": f"{event}.complete"})
                return
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"ok"})
    """,
    "FastAPI": """
        from fastapi import FastAPI
        from pydantic import BaseModel

        class Answer(BaseModel):
            text: str
            values: list[float]

        app = FastAPI()

        @app.get("/")
        async def answer() -> Answer:
            return Answer(text="ok", values=[1.5, 2.5])
    """,
}


class Run(NamedTuple):
    """Requests/s, and CPU ns for each."""

    per_s: float
    cpu_ns: float


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Ours over uvicorn's."""
    del free_threaded
    for name, code in APPLICATIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "shop.py").write_text(textwrap.dedent(code))
            rounds = []
            for number in range(ROUNDS * effort.pairs):
                order = ("loops", "uvicorn") if number % 2 else ("uvicorn", "loops")
                found = {server: run(Path(folder), server, effort.window_s) for server in order}
                rounds.append((found["loops"], found["uvicorn"]))
        ratios = [ours.per_s / theirs.per_s for ours, theirs in rounds]
        yield Figure(f"{name}: ours / uvicorn, requests/s", ratios, "at least", TARGET)
        ratios = [theirs.cpu_ns / ours.cpu_ns for ours, theirs in rounds]
        yield Figure(f"{name}: uvicorn / ours, CPU", ratios, "at least", TARGET)


def run(folder: Path, server: str, window_s: float) -> Run:
    """One run of one process."""
    cpus = sorted(os.sched_getaffinity(0))
    ending = served(
        "app",
        folder,
        apart=(cpus[:1], cpus[1:2]) if len(cpus) > 1 else None,
        rate_per_s=None,
        connections=CONNECTIONS,
        window_s=window_s,
        model="processes",
        workers=1,
        loop="uvloop",
        parameters={"application": "shop:app", "server": server},
    )
    assert ending.outcome == "measured", ending.record and ending.record.failure
    assert ending.record
    assert ending.load
    ticks = ending.record.workers[0].ticks
    assert ticks.cpu_ns
    first, last = ticks.cpu_ns[0], ticks.cpu_ns[-1]
    assert first is not None
    assert last is not None
    done = ticks.operations[-1] - ticks.operations[0]
    return Run(ending.load.achieved_per_s, (last - first) / done)
