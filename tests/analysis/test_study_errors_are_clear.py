"""Bad input gets one clear message: file or flag, key, what was expected, the nearest name."""

from pathlib import Path

import pytest

from scaling.base.errors import UsageError, nearest
from scaling.machine.topology import Topology, worker_counts
from scaling.study.combine import study_from
from scaling.study.definition import Study
from scaling.study.file import built_in_studies, load_study_file, read_study
from scaling.study.options import Options
from scaling.study.settle import settle
from tests.support.descriptions import ECHO, description

COUNTS = worker_counts(Topology(logical_cpus=2, physical_cores=2))


def study(text: str, options: Options) -> Study:
    return study_from(
        options, running_build="3.14t", load_file=lambda name: read_study(text, f"{name}.toml")
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("windw_s = 2", "mine.toml: unknown key 'windw_s'. Did you mean 'window_s'?"),
        ("window_s = 'long'", "mine.toml: window_s: expected number, got text ('long')"),
        (
            "workers = [1, 'two']",
            "mine.toml: workers: expected whole numbers or 1..cores, cores, cpus, 2x-cpus",
        ),
        ("workers = 2", "mine.toml: workers: expected list, got whole number (2)"),
        ("workers = [2, 0]", "mine.toml: workers: expected 1 or more, got 0"),
        ("loops = []", "mine.toml: loops: the list is empty"),
        ("blocks = 0", "mine.toml: blocks: expected 1 or more, got 0"),
        ("rates = 1_000", "mine.toml: rates: expected 1 to 32, got 1,000"),
        ("blocks = 2.5", "mine.toml: blocks: expected whole number, got number (2.5)"),
        ("window_s = inf", "mine.toml: window_s: expected seconds above 0, got inf"),
        ("warmup_s = -1", "mine.toml: warmup_s: expected seconds, 0 or more, got -1"),
        (
            "precision = 2",
            "mine.toml: precision: expected a share between 0 and 1, such as 2%, got",
        ),
        ("precision = [1]", "mine.toml: precision: expected number or text, got list"),
        ("max_blocks = 0", "mine.toml: max_blocks: expected 1 or more, got 0"),
        ("limit_s = 0", "mine.toml: limit_s: expected seconds above 0, got 0"),
        ("scale = true", "mine.toml: scale: expected number or text, got true/false (True)"),
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
            "mine.toml: workload 1 (echo): workers: expected 1 or more, got 0",
        ),
        (
            "[[workloads]]\nname = 'echo'\nparameters = 3",
            "mine.toml: workload 1 (echo): parameters: expected table, got whole number (3)",
        ),
    ],
)
def test_an_error_in_a_study_file_names_file_and_key(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        study(text, Options(study="mine"))
    assert said in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(workers=("0",)), "--workers: expected 1 or more, got 0"),
        (Options(workers=("1,-2",)), "--workers: expected 1 or more, got -2"),
        (Options(workers=("two",)), "--workers: expected whole numbers or 1..cores, cores"),
        (Options(workers=("1,,2",)), "--workers: expected values such as 1,2,4"),
        (Options(seconds=float("nan")), "--seconds: expected seconds above 0, got nan"),
        (Options(limit=0), "--limit: expected seconds above 0, got 0"),
        (Options(blocks=-1), "--blocks: expected 1 or more, got -1"),
        (Options(precision="200%"), "--precision: expected a share between 0 and 1, such as 2%"),
        (Options(precision="fine"), "--precision: expected a share between 0 and 1, such as 2%"),
        (Options(max_blocks=0), "--max-blocks: expected 1 or more, got 0"),
        (Options(blocks=10**7), "--blocks: expected at most 1,000,000, got 10,000,000"),
        (Options(seconds=1e9), "--seconds: expected at most 86,400 s (a day), got 1e+09"),
        (Options(time="soon"), "--time: expected a time such as 90s, 30min or 2h, got 'soon'"),
        (Options(time="0min"), "--time: expected seconds above 0, got 0"),
        (Options(time="30min", blocks=9), "--blocks: --time chooses the number of blocks"),
        (Options(time="1h", precision="2%"), "--precision: --time chooses the number of blocks"),
        (Options(max_blocks=9), "--max-blocks: only --precision adds blocks. Add --precision 2%"),
        (Options(scale="0"), "--scale: expected a factor above 0, such as 0.01 or 1%, got '0'"),
        (Options(preset="rigourous"), "--preset: unknown preset 'rigourous'. Did you mean"),
        (Options(model=("tasks",)), "--model: unknown model 'tasks'. There are: threads"),
        (Options(set=("echo",)), "--set echo: expected workload.parameter=value"),
        (Options(set=("echo=3",)), "--set echo=3: expected workload.parameter=value"),
    ],
)
def test_an_error_in_a_flag_names_the_flag(options: Options, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        study("[[workloads]]\nname = 'echo'", options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(workload=("ehco",)), "unknown workload 'ehco'. Did you mean 'echo'?"),
        (Options(workload=("my.own:Broken",)), "cannot be imported: ImportError: no luck"),
        (Options(loop=("uvlop",)), "unknown loop 'uvlop'. Did you mean 'uvloop'?"),
        (Options(set=("ecko.tls=true",)), "--set ecko.tls: unknown workload of this study 'ecko'"),
        (
            Options(set=("echo.payload=1",)),
            "--set echo.payload: unknown parameter 'payload'. Did you mean 'payload_bytes'?",
        ),
        (Options(set=("echo.tls=yes",)), "--set echo.tls: expected true or false, got 'yes'"),
        (Options(set=("echo.connections=1.5",)), "expected a whole number, got '1.5'"),
        (Options(set=("echo.connections=8,0",)), "expected at least 1, got 0"),
        (Options(set=("echo.work_us=nan",)), "expected a number, got nan"),
        (Options(set=("echo.api=stream",)), "unknown value 'stream'. Did you mean 'streams'?"),
    ],
)
def test_what_only_the_children_know_is_listed_as_well(options: Options, said: str) -> None:
    broken = type(ECHO)(path="my.own:Broken", refused="ImportError: no luck")
    described = description(workloads={"echo": ECHO, "my.own:Broken": broken})
    with pytest.raises(UsageError) as caught:
        settle(study("[[workloads]]\nname = 'echo'", options), {"3.14t": described}, COUNTS)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("payload = 1", "mine.toml: workload echo: unknown parameter 'payload'. Did you mean"),
        ("payload_bytes = '1k'", "parameters.payload_bytes: expected a whole number, got '1k'"),
        ("payload_bytes = true", "parameters.payload_bytes: expected a whole number, got True"),
        ("payload_bytes = [1, [2]]", "parameters.payload_bytes: expected a whole number, got [2]"),
        ("payload_bytes = []", "parameters.payload_bytes: the list is empty"),
        ("tls = 2026-11-20", "parameters.tls: expected true or false, got datetime.date"),
    ],
)
def test_a_parameter_in_the_file_is_named_by_its_place(parameters: str, said: str) -> None:
    text = f"[[workloads]]\nname = 'echo'\n[workloads.parameters]\n{parameters}"
    with pytest.raises(UsageError) as caught:
        settle(study(text, Options(study="mine")), {"3.14t": description()}, COUNTS)
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
    with pytest.raises(UsageError, match="cannot be read"):
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
