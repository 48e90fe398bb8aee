"""What a study is made of: the flags, else the file, else the defaults."""

import pytest

from scaling.base.errors import UsageError
from scaling.study.combine import study_from
from scaling.study.definition import Study, WorkloadEntry
from scaling.study.file import read_study
from scaling.study.options import Options
from scaling.study.presets import PRESETS

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


def study(text: str = FILE, *, options: Options | None = None) -> Study:
    return study_from(
        options or Options(study="mine.toml"),
        running_build="3.14t",
        load_file=lambda name: read_study(text, name),
    )


def test_what_nobody_says_has_its_default() -> None:
    made = study('[[workloads]]\nname = "echo"')
    assert (made.arms, made.models, made.loops) == (("3.14t",), ("threads",), ("asyncio",))
    assert (made.workers, made.sizing, made.seed) == (None, ("weak",), 1)
    assert (made.preset, made.blocks, made.window_s) == ("default", *PRESETS["default"])
    assert (made.precision, made.scale, made.controls, made.aa_pairs) == (None, 1.0, True, True)


def test_a_file_says_what_it_says() -> None:
    made = study()
    assert (made.loops, made.workers, made.seed) == (("asyncio", "uvloop"), (1, 4), 7)
    assert (made.blocks, made.window_s) == PRESETS["smoke"]
    assert made.workloads == (
        WorkloadEntry(name="compute", loops=("asyncio",), workers=(1,)),
        WorkloadEntry(name="echo", parameters={"payload_bytes": [256, 1024]}),
    )


def test_flags_win_over_the_file_and_over_its_workloads() -> None:
    options = Options(study="mine", loop=("uvloop",), workers=("4,2", "1", "2"), seed=9)
    made = study(options=options)
    assert (made.loops, made.workers, made.seed) == (("uvloop",), (1, 2, 4), 9)
    assert made.workloads[0] == WorkloadEntry(name="compute")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("30min", 1800), ("1.5 h", 5400)])
def test_a_time_has_a_unit_and_gives_way_to_blocks(text: str, seconds: float) -> None:
    assert study(options=Options(study="mine", time=text)).time_s == seconds
    in_file = f"time_s = {seconds}\n{FILE}"
    assert study(in_file).time_s == seconds
    made = study(in_file, options=Options(study="mine", blocks=9))
    assert (made.time_s, made.blocks) == (None, 9)
    assert "time_s" not in made.document  # a journal has the Ns and blocks that were chosen


@pytest.mark.parametrize("precision", ["0.02", '"2%"', '"0.02"', '" 2 % "'])
def test_a_share_may_be_written_as_a_number_or_in_per_cent(precision: str) -> None:
    text = f"precision = {precision}\nmax_blocks = 9\n{FILE}"
    made = study(text)
    assert (made.precision, made.max_blocks) == (0.02, 9)
    flags = Options(study="mine", precision="0.5%", max_blocks=7, scale="10%")
    won = study(text, options=flags)
    assert (won.precision, won.max_blocks, won.scale) == (0.005, 7, 0.1)


def test_a_workloads_own_list_stays_where_no_flag_speaks_of_it() -> None:
    made = study(options=Options(study="mine", model=("processes",)))
    assert made.models == ("processes",)
    assert made.workloads[0].loops == ("asyncio",)


def test_a_file_may_name_a_users_own_workload() -> None:
    made = study("[[workloads]]\nname = 'my.own:Nap'\n")
    assert made.workloads == (WorkloadEntry(name="my.own:Nap"),)


def test_workload_flags_choose_from_the_file_and_add_to_it() -> None:
    made = study(options=Options(study="mine", workload=("echo,my.own:Nap",)))
    assert made.workloads == (
        WorkloadEntry(name="echo", parameters={"payload_bytes": [256, 1024]}),
        WorkloadEntry(name="my.own:Nap"),
    )


@pytest.mark.parametrize(
    ("head", "options", "effort"),
    [
        ("blocks = 5\nwindow_s = 1", Options(), (5, 1.0)),
        ("blocks = 5\nwindow_s = 1", Options(preset="rigorous"), PRESETS["rigorous"]),
        ("blocks = 5\npreset = 'smoke'", Options(), (5, PRESETS["smoke"].window_s)),
        ("preset = 'rigorous'", Options(blocks=2), (2, PRESETS["rigorous"].window_s)),
        ("window_s = 1", Options(preset="smoke", seconds=0.5), (PRESETS["smoke"].blocks, 0.5)),
    ],
)
def test_a_preset_stands_for_blocks_and_window(
    head: str, options: Options, effort: tuple[int, float]
) -> None:
    made = study(f"{head}\n[[workloads]]\nname = 'echo'", options=options)
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
    options = Options(study="folder/scale.toml", arm=arms)
    assert study(f"{head}\n[[workloads]]\nname = 'echo'", options=options).name == name


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", "", ".hidden", "a b"])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"mine\.toml: name: .*names a folder"):
        study(f"name = '{name}'\n[[workloads]]\nname = 'echo'")


def test_a_study_without_workloads_says_how_to_name_one() -> None:
    with pytest.raises(UsageError, match="--workload NAME"):
        study("seed = 1")
