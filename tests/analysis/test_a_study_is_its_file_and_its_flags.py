"""A study is made of flags, else the table of its preset, else its file, else the defaults."""

from typing import Any

import pytest

from scaling.study.definition import Options, WorkloadEntry
from scaling.study.file import study_file_of, study_from
from scaling.study.kinds import Objective, parse_objective
from scaling.study.presets import PRESETS
from tests.support.plans import ECHO_FILE, asked

FILE = """
preset = "smoke"
loops = ["asyncio", "uvloop"]
workers = [4, 1, 4]
seed = 7
[[workloads]]
name = "compute"
loops = ["asyncio"]
workers = [1]
[[workloads]]
name = "echo"
parameters = { payload_bytes = [256, 1024] }
"""


def test_what_nobody_says_has_its_default() -> None:
    made = asked()
    assert (made.arms, made.models, made.loops) == (("3.14t",), ("threads",), ("asyncio",))
    assert (made.workers, made.sizing, made.seed) == ((), ("weak",), 1)
    assert (made.preset, made.blocks, made.window_s) == ("default", *PRESETS["default"])
    assert (made.scale, made.controls, made.aa_pairs) == (1.0, True, True)


def test_a_file_says_what_it_says() -> None:
    made = asked(FILE)
    assert (made.loops, made.workers, made.seed) == (("asyncio", "uvloop"), (4, 1), 7)
    assert (made.blocks, made.window_s) == PRESETS["smoke"]
    assert made.workloads == (
        WorkloadEntry(name="compute", loops=("asyncio",), workers=(1,)),
        WorkloadEntry(name="echo", parameters={"payload_bytes": [256, 1024]}),
    )


def test_flags_win_over_the_file_and_over_lists_of_its_workloads_that_they_speak_of() -> None:
    made = asked(FILE, loop=("uvloop",), workers=("4,2", "1", "2"), seed=9)
    assert (made.loops, made.workers, made.seed) == (("uvloop",), (4, 2, 1), 9)
    assert made.workloads[0] == WorkloadEntry(name="compute")
    assert asked(FILE, model=("processes",)).workloads[0].loops == ("asyncio",)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("30min", 1800), ("1.5 h", 5400)])
def test_a_time_has_a_unit_and_gives_way_to_blocks(text: str, seconds: float) -> None:
    assert asked(FILE, time=text).time_s == seconds
    in_file = f"time_s = {seconds}\n{FILE}"
    assert asked(in_file).time_s == seconds
    made = asked(in_file, blocks=9)
    assert (made.time_s, made.blocks) == (None, 9)
    assert "time_s" not in made.document  # a journal has the Ns and blocks that were chosen


@pytest.mark.parametrize("margin", ["0.03", '"3%"', '"0.03"', '" 3 % "'])
def test_a_share_may_be_written_as_a_number_or_in_per_cent(margin: str) -> None:
    text = f"margin = {margin}\n{FILE}"
    assert asked(text).margin == 0.03
    won = asked(text, margin="0.5%", scale="10%")
    assert (won.margin, won.scale) == (0.005, 0.1)


def test_workload_flags_choose_from_the_file_and_add_to_it() -> None:
    made = asked(FILE, workload=("echo,my.own:Nap",))
    assert made.workloads == (
        WorkloadEntry(name="echo", parameters={"payload_bytes": [256, 1024]}),
        WorkloadEntry(name="my.own:Nap"),
    )


@pytest.mark.parametrize(
    ("head", "flags", "effort"),
    [
        ("blocks = 5\nwindow_s = 1", {}, (5, 1.0)),
        ("blocks = 5\nwindow_s = 1", {"preset": "rigorous"}, PRESETS["rigorous"]),
        ("blocks = 5\npreset = 'smoke'", {}, (5, PRESETS["smoke"].window_s)),
        ("preset = 'rigorous'", {"blocks": 2}, (2, PRESETS["rigorous"].window_s)),
        ("window_s = 1", {"preset": "smoke", "seconds": 0.5}, (PRESETS["smoke"].blocks, 0.5)),
    ],
)
def test_a_preset_stands_for_blocks_and_window(
    head: str, flags: dict[str, Any], effort: tuple[int, float]
) -> None:
    made = asked(f"{head}\n{ECHO_FILE}", **flags)
    assert (made.blocks, made.window_s) == effort


@pytest.mark.parametrize(
    ("head", "arms", "name"),
    [
        ("", (), "scale-3.14t"),
        ("", ("3.14", "3.14t+gil"), "scale-3.14-3.14t+gil"),
        ("arms = ['3.14']", (), "scale"),
        ("name = 'blog'", ("3.14",), "blog"),
    ],
)
def test_a_study_is_called_by_its_file_and_the_arms_that_it_leaves_open(
    head: str, arms: tuple[str, ...], name: str
) -> None:
    assert asked(f"{head}\n{ECHO_FILE}", study="folder/scale.toml", arm=arms).name == name


# --- presets ------------------------------------------------------------------------------------

PRESET_FILE = """
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


def test_the_table_of_the_preset_in_use_wins_over_the_file_and_flags_over_it() -> None:
    made = asked(PRESET_FILE, preset="smoke")
    assert (made.blocks, made.window_s) == (2, PRESETS["smoke"].window_s)
    assert (made.workers, made.controls) == ((2,), False)
    assert [entry.workers for entry in made.workloads] == [(), ()]
    assert made.workloads[0].parameters == {"payload_bytes": 256, "api": "streams"}
    assert made.workloads[1].parameters == {}
    assert (asked(PRESET_FILE).blocks, asked(PRESET_FILE).window_s) == (30, 3)
    made = asked(PRESET_FILE, preset="smoke", blocks=5, workers=("1",), controls=True)
    assert (made.blocks, made.workers, made.controls) == (5, (1,), True)
    made = asked(PRESET_FILE, preset="rigorous")
    assert (made.blocks, made.window_s, made.workers) == (*PRESETS["rigorous"], (1, 2, 4))


# --- objectives ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("p99<20ms", Objective("p99", 0.02, "p99<20ms")),
        (" P50 < 1.5 s ", Objective("p50", 1.5, "p50<1.5s")),
        ("p999<250us", Objective("p999", 250e-6, "p999<250us")),
        ("p95 <5ms", Objective("p95", 0.005, "p95<5ms")),
    ],
)
def test_an_objective_is_a_percentile_and_a_limit(text: str, objective: Objective) -> None:
    found = parse_objective(text)
    assert found == objective
    assert parse_objective(found.text) == found


def test_a_study_has_several_and_flags_win() -> None:
    text = f'slo = ["p99 < 20 ms", "p50<5ms", "p99<20ms"]\n{ECHO_FILE}'
    assert asked().slo == ()
    assert asked(text).slo == ("p99<20ms", "p50<5ms")
    assert asked(text, slo=("p95<1s,p50<2ms",)).slo == ("p95<1s", "p50<2ms")
    for made in (asked(), asked(slo=("p99<20ms",))):
        assert study_file_of(made.document, "journal").values["slo"] == made.slo


@pytest.mark.parametrize("alternate", [True, False])
def test_a_measured_study_asks_again_for_alternation_as_it_was(alternate: bool) -> None:
    made = asked(alternate=alternate)
    again = study_file_of(made.document, "journal")
    assert study_from(Options(), running_build="3.14", file=again).document == made.document
