"""What `scaling reference --submit` commits is complete and sound and names nobody; nothing else of
the clone changes.
"""

import gzip
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec import json, structs

from scaling.base.console import new_console
from scaling.cli.reference_steps import FAILED, STATE, Ended, State
from scaling.journal.identity import facts_of
from scaling.journal.record import Line
from scaling.report.publish import PAGE, packed, publish
from scaling.report.submission import check_study
from tests.support.children import git
from tests.support.cli import Command
from tests.support.runs import crashed
from tests.support.studies import FakeStudy, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("git"),
    pytest.mark.usefixtures("undrawn"),
]

SOUND = FakeStudy(
    name="scale", variants={"compute": [{}], "echo": [{}]}, workers=(1, 2), blocks=6, ticks=4
)
FLAT = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
MACHINE = SOUND.first_line.machine
ANOTHER = structs.replace(MACHINE, id="0ddba11")
HERE, THERE = "results/published/epyc-64-cores", "measured/part/epyc-64-cores"
TEXT = "results/reference/pull-request.md"
PLOT = "plots/echo-weak-throughput.svg"


def published(study: FakeStudy, *folders: Path) -> None:
    """A study as it is published, in each of these folders; its plot is a file that is none."""
    for folder in folders:
        for name, content in files_of(study).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


@cache
def files_of(study: FakeStudy) -> dict[str, bytes]:
    """What is published of a study: made once for all tests."""
    with TemporaryDirectory() as place:
        measured, folder = Path(place, "measured", "scale"), Path(place, "scale")
        study.write(measured)
        publish(measured, folder, new_console(quiet=True))
        (folder / PLOT).write_text("<svg/>")
        files = [file for file in folder.rglob("*") if file.is_file()]
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a commit, in which somebody has changed a file, staged one and begun another."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-such-file"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("EMAIL", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    git("init", "--quiet", "--initial-branch=main", at=tmp_path)
    git("config", "user.name", "Ann", at=tmp_path)
    git("config", "user.email", "ann@example.org", at=tmp_path)
    (tmp_path / ".gitignore").write_text("results/*\n!results/published/\nmeasured\n")
    (tmp_path / "README.md").write_text("before\n")
    git("add", ".gitignore", "README.md", at=tmp_path)
    git("commit", "--quiet", "--message=begun", at=tmp_path)
    (tmp_path / "README.md").write_text("changed\n")
    (tmp_path / "staged").write_text("staged\n")
    (tmp_path / "begun").write_text("begun\n")
    git("add", "staged", at=tmp_path)
    return tmp_path


def of_branch(clone: Path, branch: str = "results-epyc-64-cores") -> set[str]:
    return {*git("ls-tree", "-r", "--name-only", branch, at=clone).splitlines()}


def test_what_is_published_is_committed_beside_what_somebody_works_on(
    clone: Path, command: Command
) -> None:
    published(SOUND, clone / HERE / "scale", clone / HERE / "serve")
    (clone / HERE / "scale" / "NOTES.md").write_text("mine, at /home/ann")
    before = git("status", "--porcelain", at=clone)
    done = command("reference", "--submit", HERE)
    assert done.returncode == 0, done.stderr

    added = of_branch(clone) - {".gitignore", "README.md"}
    (plot,) = {each for each in added if each.startswith(f"{HERE}/scale/plots/")}
    assert {
        *(
            f"{HERE}/scale/{name}"
            for name in ("journal.jsonl.gz", "environment.json", "index.html")
        ),
        *(f"{HERE}/scale/{name}" for name in ("tables.md", "summary.csv", "laws.csv")),
        *(f"{HERE}/claims.md", f"{HERE}/serve/journal.jsonl.gz", plot),
    } <= added
    assert not any("NOTES.md" in each for each in added)
    assert git("show", "results-epyc-64-cores:README.md", at=clone) == "before"
    assert git("status", "--porcelain", at=clone) == before
    assert git("log", "-1", "--format=%an %s", "results-epyc-64-cores", at=clone) == (
        "Ann Results of epyc-64-cores: 2 studies"
    )
    text = (clone / TEXT).read_text(encoding="utf-8")
    assert "| scale | missing | 2026-11-20 | 6 | 24 | 0 |" in text
    assert "Example CPU @ 3.00GHz, 2 cores" in text
    assert "Reference studies that are not here: compare, " in text
    assert "Left out" not in text
    assert "Nothing was sent." in done.stdout
    assert "git push origin results-epyc-64-cores" in done.stdout


def test_again_nothing_is_committed_and_more_is_added_to_the_branch(
    clone: Path, command: Command
) -> None:
    published(SOUND, clone / HERE / "scale")
    assert command("reference", "--submit", HERE).returncode == 0
    first = git("rev-parse", "results-epyc-64-cores", at=clone)
    done = command("reference", "--submit", HERE)
    assert "has all of it already" in done.stdout
    assert git("rev-parse", "results-epyc-64-cores", at=clone) == first

    (clone / HERE / "scale" / PLOT).unlink()
    (clone / HERE / "scale" / "plots" / "echo-weak-latency.svg").write_text("<svg/>")
    published(SOUND, clone / HERE / "serve")
    assert command("reference", "--submit", HERE).returncode == 0
    assert git("rev-parse", "results-epyc-64-cores^", at=clone) == first
    plots = {each.rpartition("/")[2] for each in of_branch(clone) if "/scale/plots/" in each}
    assert plots == {"echo-weak-latency.svg"}


def test_what_is_published_already_is_not_submitted(clone: Path, command: Command) -> None:
    published(SOUND, clone / HERE / "scale")
    assert command("reference", "--submit", HERE, "--branch", "mine").returncode == 0
    (clone / "results" / "reference" / "pull-request.md").unlink()
    git("update-ref", "HEAD", "mine", at=clone)
    done = command("reference", "--submit", HERE)
    assert (done.returncode, done.stdout.splitlines()[1:]) == (
        0,
        ["What is checked out has all of it already: nothing to submit"],
    )
    assert not (clone / TEXT).exists()


def test_the_branch_may_be_checked_out(clone: Path, command: Command) -> None:
    git("switch", "--quiet", "--create", "mine", at=clone)
    published(SOUND, clone / HERE / "scale")
    assert command("reference", "--submit", HERE, "--branch", "mine").returncode == 0
    assert f"{HERE}/claims.md" in of_branch(clone, "mine")
    changed = git("status", "--porcelain", "--", "results", at=clone)
    assert changed == ""


def test_what_was_measured_elsewhere_gets_its_place_and_a_name_that_no_other_machine_has(
    clone: Path, command: Command
) -> None:
    """As the workflow collects it: a folder for each job, each of a machine called alike."""
    published(SOUND, clone / HERE / "scale")
    other = replace(SOUND, head={"machine": ANOTHER})
    published(other, clone / THERE / "scale")
    published(other, clone / "measured" / "another-part" / "epyc-64-cores" / "serve")
    done = command("reference", "--submit", "measured", "--branch", "reference-1")
    assert done.returncode == 0, done.stderr
    added = {each.rpartition("/")[0] for each in of_branch(clone, "reference-1")}
    assert {f"{HERE}-2", f"{HERE}-2/scale", f"{HERE}-2/serve"} <= added
    assert not any(each.startswith(f"{HERE}/") for each in added)
    assert (clone / f"{HERE}-2" / "scale" / "journal.jsonl.gz").is_file()


type Plant = Callable[[Path], object]


def replaced(folder: Path, lines: Sequence[Line]) -> None:
    """Publish a journal of these lines there."""
    file = write(lines, folder.parent / "measuring.jsonl")
    publish(file, folder, new_console(quiet=True), replace=True)
    (folder / PLOT).write_text("<svg/>")
    file.unlink()


def changed(**changes: Any) -> Plant:
    """Another study in its place."""
    return lambda folder: replaced(folder, replace(SOUND, **changes).lines)


def without(name: str) -> Plant:
    return lambda folder: (folder / name).unlink()


def with_text(name: str, text: str) -> Plant:
    return lambda folder: (folder / name).write_text(text)


def another_environment(folder: Path) -> None:
    file = folder / "environment.json"
    file.write_text(file.read_text().replace("Example CPU", "Better CPU"))


def repacked(change: Callable[[bytes], bytes]) -> Plant:
    """Another journal, packed by hand: `scaling publish` would refuse it."""

    def plant(folder: Path) -> None:
        file = folder / "journal.jsonl.gz"
        file.write_bytes(packed(change(gzip.decompress(file.read_bytes()))))

    return plant


def cut_off(folder: Path) -> None:
    file = folder / "journal.jsonl.gz"
    file.write_bytes(file.read_bytes()[:400])


PLANTED: dict[str, tuple[Plant, str]] = {
    "a run is missing": (
        lambda folder: replaced(folder, SOUND.lines[:-1]),
        "incomplete: 23 of 24 runs",
    ),
    "cut off": (cut_off, ""),  # what zlib makes of it
    "no scaling": (changed(speeds=FLAT), "control compute · asyncio · 3.14t at N = 2: "),
    "simulated": (changed(head={"simulated": True}), "it is simulated"),
    "scaled down": (changed(options={"scale": 0.01}), "its amounts are scaled to 1 %"),
    "all failed": (changed(change=crashed), "no run is valid"),
    "another environment": (another_environment, "environment.json is not what its journal says"),
    "no page": (without(PAGE), "index.html not there: scaling publish writes all of it"),
    "no plots": (without(PLOT), "no plot is there"),
    "a name in tables": (
        with_text("tables.md", "measured\nin /home/ann/study\n"),
        "tables.md, line 2, names '/home/ann'",
    ),
    "a name in a plot": (
        with_text(PLOT, "<svg>C:\\Users\\ann</svg>"),
        rf"{PLOT}, line 1, names 'C:\\Users\\ann'",
    ),
    "a name in the journal": (
        repacked(lambda text: text.replace(b'"stderr":""', b'"stderr":"see /home/ann/notes"', 1)),
        "journal.jsonl.gz, line 2, names '/home/ann'",
    ),
    "an unreadable line": (
        repacked(lambda text: text.replace(b"\n", b"\n{not JSON\n", 1)),
        "incomplete: 24 of 24 runs, 1 line cannot be read",
    ),
}


@pytest.mark.parametrize(("plant", "said"), PLANTED.values(), ids=PLANTED)
def test_what_is_planted_is_found(plant: Plant, said: str, tmp_path: Path) -> None:
    serve = tmp_path / "serve"
    published(SOUND, serve)
    plant(serve)
    assert any(each.startswith(said) for each in check_study(serve).problems)


def test_nothing_is_committed_where_a_study_is_wrong(clone: Path, command: Command) -> None:
    published(SOUND, clone / HERE / "scale")
    published(replace(SOUND, head={"machine": ANOTHER}), clone / HERE / "serve")
    done = command("reference", "--submit", HERE)
    assert done.returncode == 1
    assert f"{HERE}/serve: it was measured on another machine than scale" in done.stdout
    assert f"{HERE}/scale:" not in done.stdout
    assert "not submitted: serve. Measure them again, or leave them" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert git("branch", "--format=%(refname:short)", at=clone) == "main"
    assert not (clone / TEXT).exists()
    assert not (clone / HERE / "claims.md").exists()


def test_what_is_sound_is_submitted_beside_what_is_left_out(clone: Path, command: Command) -> None:
    published(SOUND, clone / HERE / "scale", clone / HERE / "serve")
    plant, said = PLANTED["a name in tables"]
    plant(clone / HERE / "serve")
    assert command("reference", "--submit", HERE, "--partial").returncode == 0
    assert {Path(each).parts[3] for each in of_branch(clone) if each.startswith(HERE)} == {
        "claims.md",
        "scale",
    }
    left_out = (clone / TEXT).read_text(encoding="utf-8").partition("### Left out")[2]
    assert left_out.strip().startswith(f"- `serve`: {said}")


def test_what_was_asked_for_and_is_not_there_is_found(clone: Path, command: Command) -> None:
    published(SOUND, clone / HERE / "scale")
    done = command("reference", "--submit", HERE, "--only", "scale,serve")
    assert done.returncode == 1
    assert f"{HERE}/serve: it is not there" in done.stdout
    assert command("reference", "--submit", HERE, "--only", "scale").returncode == 0
    done = command("reference", "--submit", HERE, "--batch", "7")
    assert f"{HERE}/app-fastapi-full: it is not there" in done.stdout


def test_what_a_session_here_failed_to_measure_is_found(clone: Path, command: Command) -> None:
    published(SOUND, clone / HERE / "scale")
    state = State(facts_of(MACHINE), {"tail": Ended(FAILED, "2026-11-25T10:00:00Z", 60.0)})
    file = clone / "results" / "reference" / "epyc-64-cores" / STATE
    file.parent.mkdir(parents=True)
    file.write_bytes(json.encode(state))
    done = command("reference", "--submit", HERE)
    assert done.returncode == 1
    assert f"{HERE}/tail: failed on 2026-11-25" in done.stdout


def test_what_is_not_published_is_found(clone: Path, command: Command) -> None:
    SOUND.write(clone / HERE / "scale")
    done = command("reference", "--submit", HERE)
    assert done.returncode == 1
    assert f"{HERE}/scale: it is not published: scaling publish" in done.stdout
    assert "--partial" not in done.stderr


WRONG = {
    "no folder": (["--submit", "nowhere"], "there is no such folder"),
    "nothing in it": (["--submit", "empty"], "expected the folder of a machine"),
    "a study": (["--submit", f"{HERE}/scale"], "expected the folder of a machine"),
    "hours": (["--submit", HERE, "--hours", "2"], "--submit measures nothing: leave out --hours"),
    "no submission": (["--list", "--branch", "mine"], "--branch is for --submit FOLDER"),
    "a word": (["--list", "--workers", "1,many"], "--workers: expected whole numbers or"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_usage_is_a_line_or_two(name: str, clone: Path, command: Command) -> None:
    given, message = WRONG[name]
    SOUND.write(clone / HERE / "scale")
    (clone / "empty").mkdir()
    done = command("reference", *given)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_without_a_clone_or_a_name_nothing_is_changed(clone: Path, command: Command) -> None:
    """Git would make up an address of the name of the machine."""
    published(SOUND, clone / HERE / "scale")
    done = command("reference", "--submit", HERE, "--branch", "a..b")
    assert done.returncode == 2
    assert "a name that git takes" in done.stderr
    git("config", "--unset", "user.email", at=clone)
    done = command("reference", "--submit", HERE)
    assert done.returncode == 2
    assert "git config user.email" in done.stderr
    shutil.rmtree(clone / ".git")
    done = command("reference", "--submit", HERE)
    assert done.returncode == 2
    assert "is in no clone of the repository" in done.stderr
    assert not (clone / HERE / "claims.md").exists()
