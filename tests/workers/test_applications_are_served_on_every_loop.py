"""Your own application answers on every worker's loop: one for each from a factory, else shared."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from scaling.run.child import Ending
from tests.support.serving import served

pytestmark = pytest.mark.slow

ASGI = """
    import os

    def create_app():
        told = {name: value for name, value in os.environ.items() if name.startswith("SCALING_")}
        state = {"requests": 0}

        async def answer(scope, receive, send):
            if scope["type"] == "lifespan":
                for _ in ("startup", "shutdown"):
                    event = (await receive())["type"]
                    if event == "lifespan.startup":
                        state["started"] = True
                        scope["state"]["own"] = state
                    await send({"type": f"{event}.complete"})
                return
            found = scope["state"]["own"] is state and state["started"]
            body = repr((found, sorted(told.items()))).encode()
            await send({"type": "http.response.start", "status": 200 if found else 500,
                        "headers": [(b"content-length", str(len(body)).encode())]})
            await send({"type": "http.response.body", "body": body})

        return answer

    app = create_app()
"""


def written(folder: Path, code: str, name: str = "shop") -> Path:
    (folder / f"{name}.py").write_text(textwrap.dedent(code))
    return folder


def run(folder: Path, application: str, model: str = "threads", **parameters: Any) -> Ending:
    return served(
        "app",
        folder,
        model=model,
        workers=2,
        parameters={"application": application, **parameters},
    )


@pytest.mark.parametrize("model", ["threads", "processes", "forked"])
@pytest.mark.parametrize("factory", [True, False], ids=["factory", "object"])
def test_an_asgi_application_answers_under_every_model(
    tmp_path: Path, model: str, factory: bool
) -> None:
    name = "create_app" if factory else "app"
    # One object's lifespan is started by both loops: the second one has the state then.
    ending = run(written(tmp_path, ASGI), f"shop:{name}", model, factory=factory)
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    assert ending.record
    assert ending.load
    assert ending.load.errors == {}
    assert [worker.errors for worker in ending.record.workers] == [0, 0]
    assert all(worker.ticks.operations[-1] for worker in ending.record.workers)
    facts = ending.record.facts
    assert facts["server"].startswith("uvicorn ")
    assert facts["http_parser"].startswith("httptools ")
    whose = {True: "one instance per worker", False: "one object per process"}[factory]
    if not factory and model == "threads":
        whose = "one object shared by all loops"
    assert facts["application"] == whose
