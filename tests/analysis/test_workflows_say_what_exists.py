"""The workflows that run for us and that a README shows use commands and options that exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from scaling.builds.cpython import parse_build
from scaling.cli.program import app
from tests.support.children import ROOT
from tests.support.cli import Command
from tests.support.fabricate import Made, journal, write

RUN = re.compile(r"( *)(- )?run: *(.*)")
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")


def texts() -> Iterator[tuple[str, str]]:
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        yield file.name, file.read_text(encoding="utf-8")
    readme = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    for workflow in re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL):
        yield "README.md", workflow


def commands(workflow: str) -> Iterator[list[str]]:
    """The words of every command, with the workflow's variables replaced."""
    variables = re.findall(r"^ +([A-Z]+): (.*)$", workflow, re.MULTILINE)
    for block in blocks(workflow.splitlines()):
        for line in block.splitlines():
            filled = line
            for name, value in variables:
                filled = filled.replace(f"${name}", value)
            yield shlex.split(re.sub(r"\$\{\{.*?\}\}", "x", filled))


def blocks(lines: list[str]) -> Iterator[str]:
    """The text of every `run:`; a folded one (`>`) is one line."""
    for place, line in enumerate(lines):
        if found := RUN.fullmatch(line):
            inside, text = len(found[1]) + len(found[2] or ""), found[3]
            if text not in (">", "|"):
                yield text
                continue
            own = []
            for each in lines[place + 1 :]:
                if each.strip() and len(each) - len(each.lstrip()) <= inside:
                    break
                own.append(each.strip())
            yield (" " if text == ">" else "\n").join(own)


COMMANDS = [(name, words) for name, workflow in texts() for words in commands(workflow)]


def of(program: str) -> list[list[str]]:
    return [words[1:] for _, words in COMMANDS if words[0] == program]


def test_both_workflows_are_read() -> None:
    assert {name for name, _ in COMMANDS} == {"checks.yml", "README.md"}
    assert {words[0] for _, words in COMMANDS} == {"pip", "uv", "sudo", "nox", "scaling"}
    assert {words[0] for words in of("scaling")} == {"run", "gate"}


@pytest.mark.parametrize("words", of("scaling"), ids=" ".join)
def test_every_command_and_option_is_there(words: list[str]) -> None:
    """Parsed as the command line would be, and not run: what is unknown raises."""
    group = typer.main.get_command(app)
    with group.make_context("scaling", [*words]) as context:
        name, command, rest = group.resolve_command(context, [*words])  # type: ignore[attr-defined]
        assert command.make_context(name, rest, parent=context).params


@pytest.mark.parametrize("words", of("nox"), ids=" ".join)
def test_every_session_is_there(words: list[str]) -> None:
    flag, session = words
    assert flag == "-s"
    assert re.search(rf"^def {session}\(", NOXFILE, re.MULTILINE)


def test_every_interpreter_is_one_that_can_be_studied() -> None:
    (wanted,) = of("uv")
    assert wanted[:2] == ["python", "install"]
    for build in wanted[2:]:
        assert parse_build(build).name == build


@pytest.mark.parametrize(
    "words", [words for words in of("scaling") if words[0] == "gate"], ids=" ".join
)
def test_the_gate_passes_what_scales(words: list[str], tmp_path: Path, command: Command) -> None:
    """On studies like those that the workflow makes."""
    folders = [word for word in words if word.startswith("results/")]
    assert folders
    for seed, folder in enumerate(folders):
        (tmp_path / folder).mkdir(parents=True)
        made = Made(loops=("asyncio", "uvloop"), workers=(1, 2), blocks=8, seed=seed)
        write(journal(made), tmp_path / folder / "journal.jsonl")
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "gate: passes:" in done.stdout
