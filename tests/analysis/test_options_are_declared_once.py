"""An option is declared once, as a field: flags, study files, checks and schema follow from it."""

import json
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App
from hypothesis import given
from hypothesis import strategies as st

from scaling.base.errors import UsageError
from scaling.base.version import __version__
from scaling.cli import COMMANDS
from scaling.cli.program import NOTHING_ASKED, StudyAsked, app, flags
from scaling.study import kinds
from scaling.study.app_options import AppAsked
from scaling.study.definition import (
    ENTRY_LISTS,
    OF_COMMAND_LINE,
    OPTIONS,
    REQUIRED,
    Options,
    Study,
    declared,
    option,
)
from scaling.study.file import ENTRY, built_in_studies, built_in_text, read_study, study_schema
from tests.support.children import ROOT
from tests.support.cli import Command
from tests.support.json_schema import faults
from tests.support.pages import offered, parsed

SCHEMA = study_schema()
PUBLISHED = sorted((ROOT / "results" / "published").rglob("study.toml"))


def test_every_option_has_its_flag_with_its_help_and_every_command_a_file() -> None:
    of_study = OPTIONS | OF_COMMAND_LINE
    for command, options in {"plan": of_study, "run": of_study, "app": declared(AppAsked)}.items():
        for each in filter(lambda each: each.flag, options.values()):
            assert offered(command)[each.flag].parameter.help == each.help
    for command in ("plan", "run", "app", "remedies"):
        assert "--time" in offered(command)
    files = (ROOT / "scaling" / "cli" / "commands").glob("[a-z]*.py")
    assert set(COMMANDS) == {each.stem for each in files}
    assert all(app[name].help for name in COMMANDS)
    shown = [app[name].assemble_argument_collection(parse_docstring=True) for name in COMMANDS]
    flags_shown = [each for every in shown for each in every.filter_by(show=True)]
    assert [each.name for each in flags_shown if not each.parameter.help] == []


def test_every_option_is_a_field_of_the_study_and_a_key_of_its_file() -> None:
    keys = {field.name for field in fields(Study)}
    assert keys - OPTIONS.keys() == {"workloads", "application", "source", "overrides"}
    properties = SCHEMA["$defs"]["Study"]["properties"]
    for key, each in OPTIONS.items():
        assert properties[key]["description"] == each.help
    assert properties.keys() - OPTIONS.keys() == {"workloads", "presets"}
    assert SCHEMA["$defs"]["Workload"]["properties"].keys() == {*ENTRY, "parameters"}
    assert ENTRY.keys() == {"name", *ENTRY_LISTS}


def test_a_field_is_all_that_an_option_needs() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Added:
        shifts: int = option(REQUIRED, kinds.count_up_to(9), "How many shifts.", "--shift")

    def measure(*, asked: Any = None) -> Any:
        return asked

    measure.__annotations__["asked"] = flags(declared(Added).values())
    program = App(default_parameter=app.default_parameter, result_action="return_value")
    program.default(measure)
    assert program(["--shift", "3"]) == {"shifts": 3}
    with pytest.raises(UsageError, match="--shift: expected a whole number from 1 to 9, got 10"):
        program(["--shift", "10"])


def test_built_in_studies_are_listed_printed_and_fit_the_schema(command: Command) -> None:
    assert command("--version").stdout == f"scaling {__version__}\n"
    assert json.loads(command("study", "--schema").stdout) == SCHEMA
    listed = command("study").stdout.splitlines()
    for name in built_in_studies():
        text = built_in_text(name)
        summary, empty, *_ = text.splitlines()
        assert (summary[:2], empty) == ("# ", "#")  # a line, for the list
        assert len(summary) < 100
        assert any(line.split("  ")[0] == name and summary[2:] in line for line in listed)
        assert faults(tomllib.loads(text), SCHEMA) == []
    assert command("study", "scale").stdout == built_in_text("scale")


def test_every_published_study_fits_the_schema_and_can_be_asked_again() -> None:
    for path in PUBLISHED:
        text = path.read_text("utf-8")
        assert faults(tomllib.loads(text), SCHEMA) == [], path
        assert read_study(text, path.name).workloads


def asked_of(*arguments: str) -> StudyAsked:
    asked: StudyAsked = parsed(["plan", *arguments]).get("asked", NOTHING_ASKED)
    return asked


def test_flags_arrive_under_the_keys_of_the_options(tmp_path: Path) -> None:
    assert asked_of() == StudyAsked()  # what is not given is absent
    assert StudyAsked().options == Options()
    asked = asked_of(
        *("--workload", "echo", "--workload", "stream,scrape", "--set", "echo.api=streams"),
        *("--seconds", "0.5", "--blocks", "9", "--blocks", "4", "--no-controls", "--aa-pairs"),
        *("--arm", "3.14", "--arm", "3.14t,3.14", "--time", "30min", "--margin", "3%"),
        *("--path", str(tmp_path), "--with", "my-package", "--pgo"),
    )
    options, wanted = asked.options, asked.wanted
    assert options.workload == ("echo", "stream", "scrape")
    assert [str(each) for each in options.set] == ["echo.api=streams"]
    assert options.said == {
        "window_s": 0.5,
        "blocks": 4,
        "controls": False,
        "aa_pairs": True,
        "arms": ("3.14", "3.14t"),
        "time_s": 1800.0,
        "margin": 0.03,
    }
    assert wanted.paths == [str(tmp_path)]
    assert (wanted.requirements, wanted.pgo) == (("my-package",), True)
    with pytest.raises(UsageError, match="no such folder"):
        _ = asked_of("--path", str(tmp_path / "nowhere")).wanted


@given(st.data())
def test_numbers_that_are_refused_do_not_fit_the_schema_and_others_do(
    data: st.DataObject,
) -> None:
    """Of numbers: the bounds of check and schema are the same ones."""
    numbers = [each for each in OPTIONS.values() if each.kind.of in (int, float)]
    kind = data.draw(st.sampled_from(numbers)).kind
    one = data.draw(st.integers(-2, 2_000_000) | st.floats(allow_nan=False, allow_infinity=False))
    value = [one] if kind.several else one
    try:
        kind.check(value, "key")
    except UsageError:
        assert faults(value, kind.schema)
    else:
        assert faults(value, kind.schema) == []
