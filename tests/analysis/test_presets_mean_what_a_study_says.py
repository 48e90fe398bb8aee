"""A study file says what a preset means for it: other options, fewer values of parameters."""

from typing import Any

import pytest

from scaling.base.errors import UsageError
from scaling.study.combine import study_from
from scaling.study.definition import Study
from scaling.study.file import read_study, study_schema
from scaling.study.options import Options
from scaling.study.presets import PRESETS
from tests.support.json_schema import faults

FILE = """
preset = "default"
blocks = 30
workers = [1, 2, 4]
[[workloads]]
name = "echo"
workers = [1, 4]
parameters = { payload_bytes = [256, 1024], api = "streams" }
[[workloads]]
name = "compute"
[presets.smoke]
blocks = 2
workers = [2]
controls = false
[presets.smoke.parameters.echo]
payload_bytes = 256
[presets.default]
window_s = 3
"""


def study(text: str = FILE, **options: Any) -> Study:
    return study_from(
        Options(study="mine.toml", **options),
        running_build="3.14t",
        load_file=lambda name: read_study(text, name),
    )


def test_the_table_of_the_preset_in_use_wins_over_the_file() -> None:
    made = study(preset="smoke")
    assert (made.blocks, made.window_s) == (2, PRESETS["smoke"].window_s)
    assert (made.workers, made.controls) == ((2,), False)
    assert [entry.workers for entry in made.workloads] == [None, None]
    assert made.workloads[0].parameters == {"payload_bytes": 256, "api": "streams"}
    assert made.workloads[1].parameters == {}


def test_it_also_holds_where_the_file_names_the_preset() -> None:
    assert (study().blocks, study().window_s) == (30, 3)
    assert study().workloads[0].parameters["payload_bytes"] == [256, 1024]
    by_flag = study(preset="default")  # on the command line, it stands for the file's blocks
    assert (by_flag.blocks, by_flag.window_s) == (PRESETS["default"].blocks, 3)


def test_flags_win_over_the_table() -> None:
    made = study(preset="smoke", blocks=5, workers=("1",), controls=True)
    assert (made.blocks, made.workers, made.controls) == (5, (1,), True)


def test_a_preset_without_a_table_is_the_usual_one() -> None:
    made = study(preset="rigorous")
    assert (made.blocks, made.window_s) == PRESETS["rigorous"]
    assert made.workers == (1, 2, 4)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[presets.smok]", "mine.toml: presets: unknown preset 'smok'. Did you mean 'smoke'?"),
        ("[presets.smoke]\nblokcs = 2", "presets.smoke: unknown key 'blokcs'. Did you mean"),
        ("[presets.smoke]\nblocks = 0", "mine.toml: presets.smoke: blocks: expected 1 or more"),
        ("[presets.smoke]\npreset = 'smoke'", "presets.smoke: unknown key 'preset'"),
        (
            "[presets.smoke.parameters.ehco]",
            "presets.smoke: parameters: unknown workload of this study 'ehco'. Did you mean 'echo'",
        ),
        ("[presets.smoke.parameters]\necho = 3", "presets.smoke: parameters: expected table"),
        ("presets = 3", "mine.toml: presets: expected [presets.NAME] tables, got 3"),
    ],
)
def test_what_does_not_fit_is_named(table: str, said: str) -> None:
    entries = "[[workloads]]\nname = 'echo'\n"
    text = f"{table}\n{entries}" if table.startswith("presets") else f"{entries}{table}"
    with pytest.raises(UsageError) as caught:
        study(text)
    assert said in str(caught.value)


def test_the_schema_completes_it() -> None:
    def wrong(**presets: object) -> list[str]:
        return faults({"presets": presets}, study_schema())

    assert wrong(smoke={"blocks": 2, "parameters": {"echo": {"payload_bytes": [1, 2]}}}) == []
    assert wrong(smoke={"blocks": 0})
    assert wrong(smoke={"preset": "smoke"})
    assert wrong(smok={})
