"""Bad input gets one clear message: file or flag, key, what was expected, the nearest name."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from scaling.base.errors import UsageError, nearest
from scaling.study.file import built_in_studies, load_study_file, study_schema
from tests.support.descriptions import ECHO
from tests.support.json_schema import faults
from tests.support.plans import ECHO_FILE, asked, planned

SCHEMA = study_schema()
COUNT = "expected a whole number from 1 to 1,000,000, got"
SECONDS = "expected seconds above 0, at most 86,400, got"
TIME = "expected a time above 0 s, at most 24 h 00 min, such as 90s, 30min or 2h, got"
AT_LEAST_1 = "expected a whole number, at least 1, got"
BEYOND_THE_SCHEMA = ("window_s = inf", "margin = 2", "arms = ['3.14t+gli']", "seed = ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("windw_s = 2", "mine.toml: unknown key 'windw_s'. Did you mean 'window_s'?"),
        (
            "window_s = 'long'",
            f"mine.toml: window_s: {SECONDS} 'long'",
        ),
        (
            "workers = [1, 'two']",
            "1,000,000 or 1..cores, cores, cpus, 2x-cpus, got 'two'",
        ),
        ("workers = 2", "mine.toml: workers: expected a list, got 2"),
        ("workers = [2, 0]", "mine.toml: workers: expected a whole number from 1 to"),
        ("loops = []", "mine.toml: loops: the list is empty"),
        ("blocks = 0", f"mine.toml: blocks: {COUNT} 0"),
        ("rates = 1_000", "mine.toml: rates: expected a whole number from 1 to 32, got 1000"),
        ("blocks = 2.5", f"mine.toml: blocks: {COUNT} 2.5"),
        (
            "window_s = inf",
            f"mine.toml: window_s: {SECONDS} inf",
        ),
        ("warmup_s = -1", "mine.toml: warmup_s: expected seconds, at least 0, got -1"),
        ("margin = 2", "mine.toml: margin: expected a share from 0.1% to 10%, got 2"),
        ("margin = 'fine'", "mine.toml: margin: expected a share from 0.1% to 10%, got 'fine'"),
        ("margin = [1]", "mine.toml: margin: expected a share from 0.1% to 10%, got [1]"),
        ("precision = 0.02", "mine.toml: precision is gone since 2.0. Instead: --time 30min"),
        ("max_blocks = 40", "mine.toml: max_blocks is gone since 2.0. Instead: --time 30min"),
        ("limit_s = 0", f"mine.toml: limit_s: {SECONDS} 0"),
        ("name = '../elsewhere'", "mine.toml: name: "),
        ("aa_pairs = 1", "mine.toml: aa_pairs: expected true or false, got 1"),
        (
            "blocks = true",
            f"mine.toml: blocks: {COUNT} True",
        ),
        ("[[workloads]]\nname = 'echo'\nblocks = 3", "workload 1 (echo): unknown key 'blocks'"),
        ("primary = ['gian']", "mine.toml: primary: unknown question 'gian'. Did you mean 'gain'?"),
        ("primary = []", "mine.toml: primary: the list is empty"),
        ("primary = 'gain'", "mine.toml: primary: expected a list, got 'gain'"),
        ("scale = 0", "mine.toml: scale: expected a factor above 0"),
        (
            "scale = true",
            "scale: expected a factor above 0, such as 0.01 or 1%, got True",
        ),
        ("preset = 'smok'", "mine.toml: preset: unknown preset 'smok'. Did you mean 'smoke'?"),
        ("models = ['thread']", "models: unknown model 'thread'. Did you mean 'threads'?"),
        ("sizing = ['week']", "sizing: unknown sizing 'week'. Did you mean 'weak'?"),
        ("arms = ['3.14t+gli']", "unknown setting 'gli'. Did you mean 'gil'?"),
        ("seed = ", "mine.toml: not valid TOML: "),
        ("workloads = 3", "mine.toml: workloads: expected [[workloads]] tables, got 3"),
        ("[[workloads]]\nnmae = 'echo'", "workload 1: unknown key 'nmae'. Did you mean 'name'?"),
        ("[[workloads]]\nworkers = [1]", "mine.toml: workload 1: the key name is missing"),
        (
            "[[workloads]]\nname = 'echo'\nworkers = [0]",
            "mine.toml: workload 1 (echo): workers: expected a whole number from 1 to",
        ),
        (
            "[[workloads]]\nname = 'echo'\nparameters = 3",
            "mine.toml: workload 1 (echo): parameters: expected a table, got 3",
        ),
    ],
)
def test_an_error_in_a_study_file_names_file_and_key(text: str, said: str) -> None:
    """Editors that complete study files by the schema show it, too, but for what TOML has not."""
    with pytest.raises(UsageError) as caught:
        asked(text)
    assert said in str(caught.value)
    assert caught.value.exit_code == 2
    if text not in BEYOND_THE_SCHEMA:
        assert faults(tomllib.loads(f"{text}\n{'' if 'workloads' in text else ECHO_FILE}"), SCHEMA)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": ("0",)}, "--workers: expected a whole number from 1 to"),
        ({"workers": ("1,-2",)}, "--workers: expected a whole number from 1 to"),
        ({"workers": ("two",)}, "or 1..cores, cores, cpus, 2x-cpus, got 'two'"),
        ({"workers": ("1,,2",)}, "--workers: expected values such as 1,2,4"),
        ({"seconds": float("nan")}, f"--seconds: {SECONDS} nan"),
        ({"limit": 0}, f"--limit: {SECONDS} 0.0"),
        ({"blocks": -1}, f"--blocks: {COUNT} -1"),
        ({"margin": "200%"}, "--margin: expected a share from 0.1% to 10%, got '200%'"),
        ({"margin": "fine"}, "--margin: expected a share from 0.1% to 10%, got 'fine'"),
        ({"blocks": 10**7}, f"--blocks: {COUNT} 10000000"),
        ({"seconds": 1e5}, f"--seconds: {SECONDS} 100000.0"),
        (
            {"time": "soon"},
            f"--time: {TIME} 'soon'",
        ),
        ({"time": "48h"}, f"--time: {TIME} '48h'"),
        ({"time": "0min"}, f"--time: {TIME} '0min'"),
        ({"time": "30min", "blocks": 9}, "--blocks: --time chooses the number of blocks"),
        ({"scale": "0"}, "--scale: expected a factor above 0, such as 0.01 or 1%, got '0'"),
        ({"preset": "rigourous"}, "--preset: unknown preset 'rigourous'. Did you mean"),
        ({"model": ("tasks",)}, "--model: unknown model 'tasks'. There are: threads"),
        ({"set": ("echo",)}, "--set echo: expected workload.parameter=value"),
        ({"set": ("echo=3",)}, "--set echo=3: expected workload.parameter=value"),
    ],
)
def test_an_error_in_a_flag_names_the_flag(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        asked(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workload": ("ehco",)}, "unknown workload 'ehco'. Did you mean 'echo'?"),
        ({"workload": ("my.own:Broken",)}, "cannot be imported: ImportError: no luck"),
        ({"loop": ("uvlop",)}, "unknown loop 'uvlop'. Did you mean 'uvloop'?"),
        ({"set": ("ecko.tls=true",)}, "--set ecko.tls: unknown workload of this study 'ecko'"),
        (
            {"set": ("echo.payload=1",)},
            "--set echo.payload: unknown parameter 'payload'. Did you mean 'payload_bytes'?",
        ),
        ({"set": ("echo.tls=yes",)}, "--set echo.tls: expected true or false, got 'yes'"),
        ({"set": ("echo.connections=1.5",)}, f"{AT_LEAST_1} '1.5'"),
        ({"set": ("echo.connections=8,0",)}, f"{AT_LEAST_1} 0"),
        ({"set": ("echo.work_us=nan",)}, "expected a number, at least 0, got nan"),
        ({"set": ("echo.api=stream",)}, "unknown value 'stream'. Did you mean 'streams'?"),
    ],
)
def test_what_only_the_children_know_is_listed_as_well(options: dict[str, Any], said: str) -> None:
    broken = replace(ECHO, path="my.own:Broken", refused="ImportError: no luck")
    with pytest.raises(UsageError) as caught:
        planned(workloads={"my.own:Broken": broken}, **options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("payload = 1", "mine.toml: workload echo: unknown parameter 'payload'. Did you mean"),
        (
            "payload_bytes = '1k'",
            f"parameters.payload_bytes: {AT_LEAST_1} '1k'",
        ),
        (
            "payload_bytes = true",
            f"parameters.payload_bytes: {AT_LEAST_1} True",
        ),
        (
            "payload_bytes = [1, [2]]",
            f"parameters.payload_bytes: {AT_LEAST_1} [2]",
        ),
        ("payload_bytes = []", "parameters.payload_bytes: the list is empty"),
        ("tls = 2026-11-20", "parameters.tls: expected true or false, got datetime.date"),
    ],
)
def test_a_parameter_in_the_file_is_named_by_its_place(parameters: str, said: str) -> None:
    text = f"{ECHO_FILE}[workloads.parameters]\n{parameters}"
    with pytest.raises(UsageError) as caught:
        planned(text)
    assert said in str(caught.value)


def test_an_unknown_study_error_names_the_nearest_and_all_others() -> None:
    with pytest.raises(
        UsageError, match=r"unknown study 'scael'. Did you mean 'scale'\?"
    ) as caught:
        load_study_file("scael")
    assert all(name in str(caught.value) for name in built_in_studies())


def test_a_study_file_that_is_missing_or_not_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such study file"):
        load_study_file(str(tmp_path / "none.toml"))
    (tmp_path / "picture.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_study_file(str(tmp_path / "picture.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UsageError, match=r"no journal\.jsonl in this folder"):
        load_study_file(str(tmp_path / "folder.toml"))


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("ECHO", ["echo", "scrape"], "echo"),
        ("strem", ["stream", "scrape"], "stream"),
        ("zzz", ["stream", "scrape"], None),
        ("echo", [], None),
    ],
)
def test_a_suggestion_is_made_only_where_it_is_near(
    name: str, known: list[str], near: str | None
) -> None:
    assert nearest(name, known) == near
