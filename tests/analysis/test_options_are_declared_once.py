"""What a user says of a study is declared in one place, and every command about one takes it."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from scaling.base.errors import UsageError
from scaling.cli import app
from scaling.cli.study_options import Asked, takes_asked
from scaling.study.file import StudyFile
from scaling.study.options import FLAGS, Options

NAMES = [field.name for field in fields(Asked)]


def parameters(command: str) -> dict[str, Any]:
    commands: Any = get_command(app)
    return {each.name: each for each in commands.commands[command].params}


@pytest.mark.parametrize("command", ["plan", "run"])
def test_every_option_is_there_with_its_help(command: str) -> None:
    offered = parameters(command)
    assert list(offered)[: len(NAMES)] == NAMES
    assert all(offered[name].help for name in NAMES)


def test_a_command_keeps_the_options_of_its_own() -> None:
    assert set(parameters("run")) - set(NAMES) == {"output"}
    assert set(parameters("plan")) == set(NAMES)


def test_every_flag_that_a_message_names_is_one() -> None:
    flags = {opt for each in parameters("plan").values() for opt in each.opts}
    assert set(FLAGS.values()) <= flags


def test_every_key_that_has_a_flag_is_one_of_a_study_file() -> None:
    assert set(FLAGS) <= set(StudyFile.__struct_fields__)


def called(*arguments: str) -> tuple[Asked, dict[str, Any]]:
    """What a command gets that is called with these arguments."""
    got: list[tuple[Asked, dict[str, Any]]] = []
    program = typer.Typer()

    @program.command()
    @takes_asked
    def measure(asked: Asked, output: Annotated[Path | None, typer.Option()] = None) -> None:
        """Measure."""
        got.append((asked, {"output": output}))

    done = CliRunner().invoke(program, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (answer,) = got
    return answer


def test_what_is_not_said_is_not_there() -> None:
    asked, own = called()
    assert asked == Asked()
    assert asked.options == Options()
    assert own == {"output": None}


def test_what_is_said_arrives_in_the_form_that_a_study_takes() -> None:
    asked, own = called(
        *("--workload", "echo", "--workload", "stream,scrape", "--set", "echo.api=streams"),
        *("--seconds", "0.5", "--blocks", "4", "--no-controls", "--twins", "--precision", "2%"),
        *("--max-blocks", "12", "--scale", "0.01", "--limit", "7200", "--output", "there"),
    )
    assert asked.options == Options(
        workload=("echo", "stream,scrape"),
        set=("echo.api=streams",),
        seconds=0.5,
        blocks=4,
        controls=False,
        twins=True,
        precision="2%",
        max_blocks=12,
        scale="0.01",
        limit=7200.0,
    )
    assert own == {"output": Path("there")}


def test_what_has_to_be_got_ready_is_told_apart(tmp_path: Path) -> None:
    asked, _ = called("--path", str(tmp_path), "--with", "my-package", "--pgo")
    wanted = asked.wanted
    assert (wanted.paths, wanted.requirements, wanted.pgo) == (
        [str(tmp_path)], ["my-package"], True
    )  # fmt: skip
    with pytest.raises(UsageError, match="no such folder"):
        _ = called("--path", str(tmp_path / "nowhere"))[0].wanted


def test_commands_are_listed_from_the_study_to_the_machine() -> None:
    commands: Any = get_command(app)
    listed = list(commands.commands)
    order = ["plan", "run", "plot", "compare", "interpreters", "doctor"]
    assert [name for name in listed if name in order] == order
