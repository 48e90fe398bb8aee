"""An option of a study is declared once: flags, study files, checks and schema follow from that."""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from scaling.base.errors import UsageError
from scaling.base.version import __version__
from scaling.cli import COMMANDS
from scaling.cli.program import Asked, app, takes_asked
from scaling.study.definition import OPTIONS, Options, Study
from scaling.study.file import built_in_studies, built_in_text, study_schema
from tests.support.children import ROOT
from tests.support.cli import Command
from tests.support.json_schema import faults

SCHEMA = study_schema()
PUBLISHED = sorted((ROOT / "results" / "published").rglob("study.toml"))


def parameters(command: str) -> dict[str, Any]:
    commands: Any = get_command(app)
    return {each.name: each for each in commands.commands[command].params}


@pytest.mark.parametrize("command", ["plan", "run"])
def test_every_option_has_its_flag_with_its_help(command: str) -> None:
    offered = {flag: each for each in parameters(command).values() for flag in each.opts}
    for option in OPTIONS.values():
        if option.flag:
            assert offered[option.flag].help == option.help


def test_every_option_is_a_field_of_the_study_and_a_key_of_its_file() -> None:
    keys = {field.name for field in msgspec.structs.fields(Study)}
    unflagged = {"workloads", "application", "source", "overrides"}
    assert keys - OPTIONS.keys() == unflagged
    properties = SCHEMA["$defs"]["Study"]["properties"]
    for key, option in OPTIONS.items():
        assert properties[key]["description"] == option.help
    assert properties.keys() - OPTIONS.keys() == {"workloads", "presets"}


def test_an_option_of_one_workload_is_a_key_of_its_table() -> None:
    own = {key for key, option in OPTIONS.items() if option.per_workload}
    assert SCHEMA["$defs"]["Workload"]["properties"].keys() == own | {"name", "parameters"}


def test_every_command_is_a_file_and_is_listed_in_order() -> None:
    commands: Any = get_command(app)
    assert tuple(commands.commands) == COMMANDS
    for name in COMMANDS:
        assert (ROOT / "scaling" / "cli" / f"{name}.py").is_file()
        assert commands.commands[name].help


def test_version_and_schema_are_printed(command: Command) -> None:
    assert command("--version").stdout == f"scaling {__version__}\n"
    assert json.loads(command("study", "--schema").stdout) == SCHEMA


def test_built_in_studies_are_listed_printed_and_fit_the_schema(command: Command) -> None:
    listed = command("study").stdout.splitlines()
    for name in built_in_studies():
        text = built_in_text(name)
        summary, empty, *_ = text.splitlines()
        assert (summary[:2], empty) == ("# ", "#")  # a line, for the list
        assert len(summary) < 100
        assert any(line.split("  ")[0] == name and summary[2:] in line for line in listed)
        assert faults(tomllib.loads(text), SCHEMA) == []
    assert command("study", "scale").stdout == built_in_text("scale")


def test_a_command_keeps_its_own_options() -> None:
    assert set(parameters("run")) > set(parameters("plan"))
    assert parameters("run")["output"].help != parameters("plan")["output"].help


def test_every_published_study_fits_the_schema() -> None:
    for path in PUBLISHED:
        assert faults(tomllib.loads(path.read_text("utf-8")), SCHEMA) == [], path


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


def test_options_that_are_not_given_are_absent() -> None:
    asked, own = called()
    assert asked == Asked(options=Options())
    assert asked.options.values() == {}
    assert own == {"output": None}


def test_flags_arrive_under_the_names_of_the_options() -> None:
    asked, own = called(
        *("--workload", "echo", "--workload", "stream,scrape", "--set", "echo.api=streams"),
        *("--seconds", "0.5", "--blocks", "4", "--no-controls", "--aa-pairs", "--margin", "3%"),
        *("--scale", "0.01", "--limit", "7200", "--output", "there"),
    )
    assert asked.options == Options(
        workload=("echo", "stream,scrape"),
        set=("echo.api=streams",),
        seconds="0.5",
        blocks="4",
        controls=False,
        aa_pairs=True,
        margin="3%",
        scale="0.01",
        limit="7200",
    )
    assert asked.options.values()["limit_s"] == 7200.0
    assert own == {"output": Path("there")}


def test_what_has_to_be_prepared_is_kept_separate(tmp_path: Path) -> None:
    asked, _ = called("--path", str(tmp_path), "--with", "my-package", "--pgo")
    wanted = asked.wanted
    assert (wanted.paths, wanted.requirements, wanted.pgo) == (
        [str(tmp_path)], ("my-package",), True
    )  # fmt: skip
    with pytest.raises(UsageError, match="no such folder"):
        _ = called("--path", str(tmp_path / "nowhere"))[0].wanted
