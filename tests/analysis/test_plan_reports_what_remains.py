"""`scaling plan --output DIR` says what of a study is measured, what is not, and writes nothing."""

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from scaling.cli.program import app
from scaling.run.remaining_work import Row, Work, lines
from scaling.run.time_left import Left
from tests.support.cli import BUILD, Command
from tests.support.once import made_once

pytestmark = pytest.mark.slow

STUDY = [
    *("--arm", BUILD, "--workload", "compute,echo", "--loop", "asyncio", "--workers", "1,2"),
    *("--model", "threads"),
    *("--seconds", "0.2", "--blocks", "2", "--no-controls", "--no-aa-pairs"),
]
RUNS = 2 * 2 * 2  # two workloads at two Ns in two blocks

type Lines = list[dict[str, Any]]
type Answer = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Lines]:
    """The state folder of a study that was really measured, and its journal's lines."""

    def measure(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SCALING_STATE", str(folder))
            patch.setattr("scaling.report.output.finish", lambda *_: None)
            command = ["run", *STUDY, "--output", str(folder / "out")]
            done = CliRunner().invoke(app, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output

    folder = made_once(tmp_path_factory, "remains", measure)
    lines = (folder / "out" / "journal.jsonl").read_bytes().splitlines()
    head, *runs = map(msgspec.json.decode, lines)
    # What this machine did meanwhile is no part of the test: the last attempt is the only one.
    last = {(run["block"], str(run["cell"])): run for run in runs if run["kind"] == "run"}
    assert len(last) == RUNS
    for run in last.values():
        run |= {"attempt": 1, "disturbance": {}}
    return folder, [head, *last.values()]


@pytest.fixture
def plan(
    measured: tuple[Path, Lines],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Command,
) -> Answer:
    """Writes a journal into `tmp_path`/out; gives what the command answers."""

    def answer(lines: Sequence[Any] | None, *options: str) -> tuple[int, str, str]:
        out = tmp_path / "out"
        if lines is not None:
            out.mkdir()
            journal = out / "journal.jsonl"
            journal.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        monkeypatch.setenv("SCALING_STATE", str(measured[0]))  # with the machine's id
        monkeypatch.setenv("COLUMNS", "100")
        done = command("plan", "--output", "out", *options)
        assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        return done.returncode, done.stdout, done.stderr

    return answer


def invalid(run: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {**run, **fields, "disturbance": {"throttled_s": 1.0}}


def rows(printed: str) -> dict[str, list[int]]:
    """Runs measured, to do, to rerun and invalid, by workload."""
    table = [line.split() for line in printed.splitlines() if f" {BUILD} " in line]
    return {words[0]: [int(word) for word in words[-4:]] for words in table}


def test_a_complete_study_has_nothing_left(plan: Answer, measured: tuple[Path, Lines]) -> None:
    code, out, _ = plan(measured[1])
    assert code == 0
    assert rows(out) == {"compute": [4, 0, 0, 0], "echo": [4, 0, 0, 0]}
    assert "8 of 8 runs measured, 2 of 2 blocks complete" in out
    assert "nothing remains to be measured" in out


@pytest.mark.parametrize("options", [(), STUDY], ids=["of-the-folder", "named"])
def test_what_is_missing_is_to_do(
    options: Sequence[str], plan: Answer, measured: tuple[Path, Lines]
) -> None:
    code, out, _ = plan(measured[1][:-3], *options)
    assert code == 0
    assert "5 of 8 runs measured, 1 of 2 blocks complete" in out
    assert sum(done for done, *_ in rows(out).values()) == 5
    assert sum(to_do for _, to_do, *_ in rows(out).values()) == 3
    assert "to do: 3 runs, " in out
    assert " s left" in out
    assert "resume with: scaling run --output out" in out, out


def test_the_command_that_resumes_can_be_pasted_whatever_the_folder() -> None:
    row = Row(("echo",), valid=1, to_do=1, again=0, lost=0)
    path = Path("my results/it's $x/journal.jsonl")
    *_, last = lines(Work(path, [row], 1, 0, Left(1.0), Counter(), "", ()))
    command = last.removeprefix("resume with: ").removesuffix(", and the same options")
    assert shlex.split(command) == ["scaling", "run", "--output", str(path.parent)]


def test_an_invalid_run_is_to_be_run_again_once(plan: Answer, measured: tuple[Path, Lines]) -> None:
    head, first, second, *others = measured[1]
    broken = [invalid(first), invalid(second)]
    code, out, _ = plan([head, *broken, *others, invalid(second, attempt=2)])
    assert code == 0
    assert "6 of 8 runs measured, 1 of 2 blocks complete" in out
    assert "1 invalid run to run again: throttled" in out
    assert "1 run excluded: still invalid after a second attempt, or of a workload" in out
    assert [sum(column) for column in zip(*rows(out).values(), strict=True)] == [6, 0, 1, 1]


def test_a_valid_first_attempt_counts_whatever_came_after(
    plan: Answer, measured: tuple[Path, Lines]
) -> None:
    """A disturbed run is made again at once; the figures have the last valid attempt."""
    head, first, *others = measured[1]
    code, out, _ = plan([head, first, invalid(first, attempt=2), *others])
    assert code == 0
    assert "8 of 8 runs measured, 2 of 2 blocks complete" in out
    assert "still invalid" not in out


def test_what_would_not_be_resumed_is_said(plan: Answer, measured: tuple[Path, Lines]) -> None:
    head, *runs = measured[1]
    code, out, _ = plan([{**head, "workers_source": "0" * 64}, *runs[:3]])
    assert code == 0
    assert "3 of 8 runs measured" in out
    assert "would start in another folder" in out
    assert "the source of the workers" in " ".join(out.split())


def test_bad_input_gets_a_line(plan: Answer, measured: tuple[Path, Lines], tmp_path: Path) -> None:
    def refused(*options: str) -> str:
        code, out, err = plan(None, *options)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        return err

    assert "out: no such file or folder" in refused()
    out = tmp_path / "out"
    out.mkdir()
    assert "no journal.jsonl in this folder" in refused()
    for text, message in (
        (b"", "the journal is empty"),
        (b"Dear diary\n", "not a journal"),
        (b'{"kind":"stu', "its only line was cut off"),
        (msgspec.json.encode({**measured[1][0], "schema": 99}) + b"\n", "newer scaling"),
        (msgspec.json.encode({**measured[1][0], "study": {}}) + b"\n", "name its study"),
    ):
        (out / "journal.jsonl").write_bytes(text)
        assert message in refused()
    (out / "journal.jsonl").write_bytes(msgspec.json.encode(measured[1][0]) + b"\n")
    err = refused(*STUDY, "--seed", "7")
    assert "is of another study; not the same: the study (" in err
    assert "seed" in err
