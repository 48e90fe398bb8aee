"""What the pages and the workflows say to type works."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import nox.registry
import pytest
import yaml

import noxfile
from scaling.builds.cpython import parse_build
from scaling.cli import COMMANDS
from scaling.study.file import read_study
from tests.support.children import ROOT, measured
from tests.support.pages import TEXTS, example_of, parsed

ALL = "\n".join(text for name, text in TEXTS.items() if name != "CHANGELOG.md")
EXPRESSION = re.compile(r"\$\{\{[^}|]*(?:\|\| '(.*?)' )?\}\}")  # its default, where it has one


@pytest.mark.slow
def test_the_workload_of_ones_own_runs(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", ALL, re.DOTALL)
    (example,) = (each for each in examples if "class Nap" in each)
    (tmp_path / "nap.py").write_text(example, encoding="utf-8")
    record = measured({"workload": "nap:Nap", "workers": 2}, tmp_path)
    assert all(worker.ticks.operations[-1] > 0 for worker in record.workers)


def workflows() -> Iterator[str]:
    """Those that run for us, and that a page shows."""
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        yield file.read_text(encoding="utf-8")
    yield from re.findall(r"```yaml\n(.*?)```", ALL, re.DOTALL)


def commands(workflow: str) -> Iterator[list[str]]:
    """The words of every command, with the workflow's variables replaced."""
    variables = re.findall(r"^ +([A-Z]+): (.*)$", workflow, re.MULTILINE)
    steps = (step for job in yaml.safe_load(workflow)["jobs"].values() for step in job["steps"])
    for step in steps:
        for line in step.get("run", "").splitlines():
            filled = line
            for name, value in variables:
                filled = filled.replace(f"${name}", value)
            yield shlex.split(EXPRESSION.sub(lambda found: found[1] or "x", filled))


IN_WORKFLOWS = [words for workflow in workflows() for words in commands(workflow)]


def of(program: str) -> list[list[str]]:
    return [words[1:] for words in IN_WORKFLOWS if words[0] == program]


def test_every_command_and_option_is_there() -> None:
    """Parsed as the command line would be, and not run: what is unknown raises."""
    assert {words[0] for words in of("scaling")} == {"gate", "ready", "run"}
    for words in of("scaling"):
        parsed(words)
    assert set(re.findall(r"`scaling (\w+)", ALL)) <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_it_takes(name: str) -> None:
    program, *words = shlex.split(example_of(name))
    assert (program, words[0]) == ("scaling", name)
    parsed(words)


@pytest.mark.parametrize("line", re.findall(r"^\$ scaling (.+)$", ALL, re.MULTILINE))
def test_every_command_line_of_a_page_is_taken(line: str) -> None:
    parsed(shlex.split(line, comments=True))


def test_the_study_file_of_a_page_is_one() -> None:
    found = [each for each in re.findall(r"```toml\n(.*?)```", ALL, re.DOTALL) if "arms" in each]
    assert len(found) == 1
    assert [entry.name for entry in read_study(found[0], "page").workloads] == ["echo"]


def test_every_session_and_interpreter_is_there() -> None:
    in_workflows = [words[1] for words in of("nox")]
    assert in_workflows
    named = {*in_workflows, *re.findall(r"nox -s ([\w.-]+)", ALL)}
    assert noxfile.ROOT == ROOT
    assert named <= set(nox.registry.get())
    for wanted in of("uv"):
        assert wanted[:2] == ["python", "install"]
        for build in wanted[2:]:
            assert parse_build(build).name == build
