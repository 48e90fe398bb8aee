"""What requests save, cookies and tokens stand in no journal, page, log or message."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.record import Load
from scaling.run.check.application import check_application
from scaling.run.load import Generator, GeneratorProgram
from scaling.run.load_client import LoadError
from scaling.run.redaction import HIDDEN, Hiding, secrets_in, spellings, without_words
from tests.applications import live
from tests.support.app_checks import APPLICATIONS, hurry
from tests.support.children import OF_ONE
from tests.support.cli import Command
from workers.services.load import sequence
from workers.services.load.request import Request
from workers.services.load.requests_list import request_from

TOKEN = "planted-7-abc"
BODY = json.dumps({"a/b": {"~": ["x", TOKEN]}, "n": 7, "yes": True, "no": None, "": "top"})
HEADERS = (("x-token", TOKEN), ("set-cookie", f"sid={TOKEN}; Path=/"), ("set-cookie", "other=1"))
NOTHING = "nothing"


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("/a~1b/~0/1", TOKEN),
        ("/n", "7"),
        ("/yes", "true"),
        ("/", "top"),
        ("header:X-Token", TOKEN),
        ("cookie:sid", TOKEN),
        ("", NOTHING),
        ("/no", NOTHING),
        ("/a~1b", NOTHING),
        ("/a~1b/~0/2", NOTHING),
        ("/a~1b/~0/x", NOTHING),
        ("/n/1", NOTHING),
        ("header:none", NOTHING),
        ("cookie:none", NOTHING),
    ],
)
def test_what_is_saved(source: str, value: str) -> None:
    try:
        found = sequence.saved({"it": source}, sequence.Answer(HEADERS, BODY.encode()))["it"]
    except sequence.NothingThereError:
        found = NOTHING
    assert found == value


@pytest.mark.parametrize(
    ("document", "filled"),
    [
        ({"path": "/a/{it}?b={it}"}, {"path": "/a/a%2F%22%C3%BC?b=a%2F%22%C3%BC"}),
        ({"headers": {"a": "B {it}"}}, {"headers": {"a": 'B a/"ü'}}),
        ({"body": "{it}{no}"}, {"body": 'a/"ü{no}'}),
        ({"method": "POST", "json": {"a": "{it}"}}, {"body": '{"a": "a/\\"\\u00fc"}'}),
        (
            {"headers": {"content-type": sequence.FORM}, "body": "a={it}"},
            {"body": "a=a%2F%22%C3%BC"},
        ),
        ({"websocket": "/{it}", "send": ["{it}"]}, {"websocket": "/a%2F%22%C3%BC"}),
        ({"websocket": "/", "send": [["{it}"]]}, {"send": ['["a/\\"\\u00fc"]']}),
    ],
)
def test_a_value_is_written_as_its_place_takes_it(
    document: dict[str, Any], filled: dict[str, Any]
) -> None:
    found = sequence.filled(request_from(document, "here"), {"it": 'a/"ü'})
    assert filled.items() <= vars(found).items()


# --- hidden --------------------------------------------------------------------------------------


def test_each_spelling_of_a_value_is_hidden_and_its_name_is_no_secret() -> None:
    found = Hiding((), spellings(['odd "value"/ü', "true", "abc"]))
    for written in ('odd "value"/ü', "odd%20%22value%22%2F%C3%BC", r"odd \"value\"/\u00fc"):
        assert found.in_output(f"ValueError: {written}!".encode()) == b"ValueError: (hidden)!"
    assert found.in_output(b"it is true, abc") == b"it is true, abc"
    headers = {"authorization": "Bearer {token}", "cookie": "sid={token}"}
    assert secrets_in([{"headers": headers, "path": "/a?token={token}"}]) == frozenset()
    request = Request(headers={"a": "{it}"})  # no header takes a second line
    assert sequence.filled(request, {"it": "b\r\nc: d"}).headers == {"a": "b%0D%0Ac%3A%20d"}


def test_where_values_are_not_known_only_types_and_places_are_kept() -> None:
    text = (
        "starting for planted\nTraceback (most recent call last):\n"
        '  File "live.py", line 7, in raising\n    raise LookupError(planted)\n'
        "LookupError: no desk for planted\n"
    )
    assert without_words(text) == (
        f"{HIDDEN}\nTraceback (most recent call last):\n"
        f'  File "live.py", line 7, in raising\n{HIDDEN}\nLookupError: {HIDDEN}\n'
    )
    record = {"failure": {"error": "KeyError: planted"}, "facts": {"server": "uvicorn 0.54"}}
    found = json.loads(Hiding((), None).in_record(json.dumps(record).encode()))
    assert found == {"failure": {"error": f"KeyError: {HIDDEN}"}, "facts": record["facts"]}


@pytest.mark.parametrize(("save", "known"), [({}, True), ({"token": "/token"}, False)])
def test_what_a_generator_saves_is_not_known_until_its_result(
    save: dict[str, str], known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends before says nothing of it."""

    async def done(*_: object) -> bytes:
        return b""

    for name in ("_send", "_line"):
        monkeypatch.setattr(Generator, name, done)
    requests = [{"path": "/", "save": save}]
    program = GeneratorProgram(python=sys.executable, environment={}, requests=requests)
    generator = Generator(program, Load(), warmup_s=0.0)
    asyncio.run(generator.connect(["http://127.0.0.1:9"], []))
    assert generator.secrets == (set() if known else None)


def test_a_result_without_a_figure_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def printed(*_: object) -> bytes:
        return b'{"secrets": [], "windows": [], "rate_per_s": 1.0}'

    monkeypatch.setattr(Generator, "_line", printed)
    generator = Generator(GeneratorProgram(python="", environment={}), Load(), warmup_s=0.0)
    with pytest.raises(LoadError, match="printed no result: 'offered'"):
        asyncio.run(generator._measured(None))


REQUESTS = [
    {"method": "POST", "path": "/login", "save": {"token": "/data/0/token"}},
    {"path": "/me", "headers": {"authorization": "Bearer {token}"}},
    {"path": "/me", "headers": {"cookie": f"session={live.MARK}-cookie"}, "status": 401},
    {"path": "/raising", "headers": {"authorization": "Bearer {token}"}, "status": 500},
    {"websocket": "/ws", "send": ["{token}"], "receive": ["known"]},
    {"path": "/events"},
]


def describe_app(python: str, variables: Sequence[tuple[str, str]], _: object) -> bytes:
    """The description of an environment with the workload `app` alone, of which the study is."""
    command = [python, "-c", OF_ONE % {"name": "app"}, "--describe"]
    return subprocess.run(command, env=dict(variables), stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_a_planted_token_is_in_no_file_and_in_no_line(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checked, measured and answered for on real builds. The application says it in each of its
    tracebacks, and the study has all of its files.
    """
    monkeypatch.setattr("scaling.builds.prepared_arm._ask", describe_app)
    monkeypatch.setattr("scaling.study.application.ALLOCATORS", ("",))
    monkeypatch.setattr("scaling.report.view.plots.drawings", lambda *_: [])  # which takes seconds
    monkeypatch.setattr("scaling.study.plan.cells.aa_pairs", lambda *_: [])
    hurry(monkeypatch, firsts=0)
    monkeypatch.setattr("scaling.run.check.state.ROUNDS", 1)
    of_two = partial(check_application, workers=(2,))
    monkeypatch.setattr("scaling.run.application_trial.check_application", of_two)
    monkeypatch.setattr("scaling.run.application_trial.MODELS", ())
    for name in ("workers.py", "random.py"):  # a folder of the user's is not searched for ours
        (tmp_path / name).write_text("raise ImportError(__file__)\n")
    requests = tmp_path / "requests.jsonl"
    requests.write_text("\n".join(map(json.dumps, REQUESTS)))
    done = command(
        *("app", "live:app", "--path", str(APPLICATIONS), "--lifespan", "off"),
        *("--requests", str(requests), "--rate", "100", "--workers", "1"),
        *("--blocks", "1", "--seconds", "0.2", "--output", "out"),
    )
    assert done.returncode == 0, done.stderr
    files = [each for each in (tmp_path / "out").rglob("*") if each.is_file()]
    assert {"journal.jsonl", "check.json"} <= {each.name for each in files}
    assert "6 cells in 1 block = 6 runs" in done.stdout
    assert "Check: answers are the same on several loops" in done.stdout
    journal = (tmp_path / "out" / "journal.jsonl").read_text()
    study = json.loads(journal.partition("\n")[0])["study"]
    assert study["application"]["requests"]["count"] == len(REQUESTS)
    assert f"no desk for Bearer {HIDDEN}" in journal  # its tracebacks are there
    for text in (done.stdout, done.stderr, *(each.read_text("latin-1") for each in files)):
        assert live.MARK not in text
    loads = [found["load"] for found in map(json.loads, journal.splitlines()) if "load" in found]
    assert all(each["errors"] == {} for each in loads if each)
    assert any(each["first_byte"]["count"] for each in loads if each)
