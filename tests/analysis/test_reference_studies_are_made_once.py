"""A reference session makes each study once, whatever happens between, and publishes it whole."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec import json, to_builtins
from msgspec.structs import replace
from rich.console import Console

from scaling.base.errors import TERMINATED, ScalingError, UsageError
from scaling.builds import interpreters
from scaling.cli.reference_steps import ReferenceSteps, newest
from scaling.journal.record import Machine
from scaling.machine.identity import label
from scaling.study.application import AppAsked, application_study
from scaling.study.file import built_in_studies, load_study_file
from scaling.study.reference import ReferenceStudy, outside_programs, reference_studies
from tests.support.children import PATIENCE_S, ROOT
from tests.support.served_studies import FakeAppStudy
from tests.support.studies import FakeStudy, with_settings
from tests.support.waiting import wait_until

HERE = Machine(id="a" * 32, cpu_model="AMD EPYC 7R13 Processor", physical_cores=2)
MOST_MINUTES, MOST_MINUTES_IN_FULL = 25, 90
BATCH_MINUTES = 150
# In place of `scaling`: says that it runs, and when SIGTERM ends it, that it has ended.
SLOW = """\
#!{python}
import os, signal, time
from pathlib import Path
def end(*_):
    time.sleep(0.2)
    Path("ended").touch()
    os._exit(1)
signal.signal(signal.SIGTERM, end)
Path("running").touch()
time.sleep({patience_s})
"""
SESSION = """
import sys
from scaling.cli.reference_steps import run_here
sys.executable = {slow!r}
run_here(["run"], {{}})
"""


def study(name: str, minutes: float = 10, **other: object) -> ReferenceStudy:
    command = f"run --study {name}"
    return replace(ReferenceStudy(name=name, command=command, minutes=minutes), **other)


@dataclass
class Session:
    """Sessions on one machine: what they ran, with studies that take no time."""

    folder: Path
    studies: Sequence[ReferenceStudy]
    machine: Machine = HERE
    failing: str = ""
    minutes: float = 0
    ran: list[str] = field(default_factory=list)
    pgo: list[str] = field(default_factory=list)
    said: io.StringIO = field(default_factory=io.StringIO)

    def run(self, command: Sequence[str], variables: dict[str, str]) -> int:
        *asked, flag, output = command
        assert flag == "--output"
        self.ran.append(" ".join(asked))
        self.pgo.append(variables["SCALING_PGO"])
        Path(output).mkdir(parents=True, exist_ok=True)
        (Path(output) / "journal.jsonl").touch()
        self.minutes += 10
        return int(bool(self.failing) and self.failing in asked)

    def publish(self, study: Path, folder: Path) -> None:
        assert (study / "journal.jsonl").is_file()
        folder.mkdir(parents=True)
        (folder / "published").touch()

    def steps(self, hours: float | None = None, workers: Sequence[str] = ()) -> ReferenceSteps:
        return ReferenceSteps(
            studies=self.studies,
            output=self.folder / "reference",
            published=self.folder / "published",
            console=Console(file=self.said, width=200),
            hours=hours,
            workers=workers,
            run=self.run,
            publish=self.publish,
            here=lambda: self.machine,
            clock=lambda: 60 * self.minutes,
        )

    def published(self, label: str = "epyc-2-cores") -> list[str]:
        folder = self.folder / "published" / label
        return sorted(path.parent.name for path in folder.glob("*/published"))


def test_each_is_measured_once_and_published_and_one_that_fails_is_tried_again(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path, [study("scale"), study("serve")], failing="scale")
    with pytest.raises(ScalingError, match=r"not published: scale \(failed\)"):
        session.steps().measure()
    assert session.published() == ["serve"]
    session.failing = ""
    session.steps().measure()
    assert session.ran == ["run --study scale", "run --study serve", "run --study scale"]
    assert session.published() == ["scale", "serve"]
    session.steps().measure()
    assert len(session.ran) == 3


def test_a_study_that_could_not_be_published_is_not_measured_again(tmp_path: Path) -> None:
    session = Session(tmp_path, [study("scale")])
    steps = session.steps()

    def refuse(_: Path, folder: Path) -> None:
        raise ScalingError(f"{folder}: no space left")

    steps.publish = refuse
    with pytest.raises(ScalingError, match=r"not published: scale \(failed\)"):
        steps.measure()
    session.steps().measure()
    assert session.published() == ["scale"]
    assert len(session.ran) == 1


@pytest.mark.parametrize(
    ("workers", "pgo", "is_gone"),
    [(("1", "4"), True, False), ((), False, False), ((), True, True)],
    ids=["other Ns", "other builds", "nothing there"],
)
def test_another_command_or_a_study_that_is_gone_is_measured(
    tmp_path: Path, workers: Sequence[str], pgo: bool, is_gone: bool
) -> None:
    session = Session(tmp_path, [study("scale")])
    steps = session.steps()
    steps.publish = lambda _, folder: (tmp_path / "no such" / folder.name).touch()
    with pytest.raises(FileNotFoundError):
        steps.measure()
    if is_gone:
        shutil.rmtree(tmp_path / "reference" / "epyc-2-cores" / "scale")
    steps = session.steps(workers=workers)
    steps.pgo = pgo
    steps.measure()
    assert len(session.ran) == 2


@pytest.mark.parametrize(
    ("blocks", "command", "measured"),
    [(3, "run --study scale", 1), (2, "run --study scale", 2), (3, "remedies --study scale", 2)],
    ids=["whole", "with runs to do", "perhaps with another study to do"],
)
def test_a_study_that_could_not_be_drawn_is_published(
    tmp_path: Path, blocks: int, command: str, measured: int
) -> None:
    """One that lacks something is measured on."""
    each = replace(study("scale"), command=command)
    session = Session(tmp_path, [each], failing="scale")
    steps, run = session.steps(), session.run

    def undrawn(command: Sequence[str], variables: dict[str, str]) -> int:
        code = run(command, variables)
        FakeStudy(blocks=blocks, head={"blocks": 3}).write(Path(command[-1]))
        return code

    steps.run = undrawn
    if measured == 1:
        steps.measure()
    else:
        with pytest.raises(ScalingError, match="not published: scale"):
            steps.measure()
    session.failing = ""
    session.steps().measure()
    assert len(session.ran) == measured
    assert session.published() == ["scale"]


def test_each_is_asked_for_as_its_session_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without alternation if so asked, with PGO where it needs it, for versions that can be had."""
    monkeypatch.setattr(interpreters, "available", lambda builds, say: ["3.12", "3.15t"])
    versions = study("versions", every_version=True, pgo=False)
    elsewhere = study("app", source="no/such/folder")
    session = Session(tmp_path, [elsewhere, study("scale"), versions])
    steps = session.steps()
    steps.alternate = False
    steps.measure()
    assert session.ran == [
        "run --study scale --no-alternate",
        "run --study versions --arm 3.12,3.15t --no-alternate",
    ]
    assert session.pgo == ["1", "0"]
    assert session.published() == ["scale", "versions"]


def test_what_fits_into_the_time_is_taken_in_order_of_value(tmp_path: Path) -> None:
    session = Session(tmp_path, [study("scale"), study("slo", 45), study("serve"), study("tls")])
    steps = session.steps(hours=0.5)
    steps.print_plan()
    steps.measure()
    assert session.published() == ["scale", "serve", "tls"]
    assert re.search(r"slo +left out: it does not fit +45$", session.said.getvalue(), re.MULTILINE)


def test_batches_are_listed_and_can_be_asked_for(tmp_path: Path) -> None:
    session = Session(tmp_path, [study("scale"), study("slo", batch=2), study("tls", batch=2)])
    session.steps().print_plan()
    listed = re.findall(r"^(\d) +(\w+) +to measure", session.said.getvalue(), re.MULTILINE)
    assert listed == [("1", "scale"), ("2", "slo"), ("2", "tls")]
    assert {each.batch for each in reference_studies(batches=["1", "3"])} == {1, 3}
    last = reference_studies()[-1]
    assert reference_studies([last.name], [str(last.batch)]) == [last]
    with pytest.raises(UsageError, match="no study in common"):
        reference_studies([last.name], ["1"])
    with pytest.raises(UsageError, match="unknown batch '0'"):
        reference_studies(batches=["0"])


def test_numbers_of_workers_are_for_studies_that_have_none_of_their_own(tmp_path: Path) -> None:
    """Each further one adds half of the time of two."""
    studies = [study("serve"), study("scale", own_workers=True)]
    losses = replace(study("losses"), command="run --workload echo --workers 1,2 --blocks 10")
    session = Session(tmp_path, [*studies, losses])
    steps = session.steps(workers=["1", "2", "8"])
    steps.print_plan()
    assert [each.minutes for each in steps.studies] == [15, 10, 15]
    steps.measure()
    assert session.ran == [
        "run --study serve --workers 1,2,8",
        "run --study scale",
        "run --workload echo --workers 1,2,8 --blocks 10",
    ]


def test_a_session_that_takes_longer_ends_in_time(tmp_path: Path) -> None:
    session = Session(tmp_path, [study("scale", 5), study("serve", 5), study("tls", 5)])
    session.steps(hours=0.25).measure()
    assert session.published() == ["scale", "serve"]


def test_a_machine_that_changes_is_another_one(tmp_path: Path) -> None:
    session = Session(tmp_path, [study("scale"), study("serve")])
    run = session.run

    def moved(command: Sequence[str], variables: dict[str, str]) -> int:
        session.machine = replace(HERE, kernel="Linux 9")
        return run(command, variables)

    steps = session.steps()
    steps.run = moved
    with pytest.raises(ScalingError, match="another machine"):
        steps.measure()
    assert session.published() == []
    session.steps().measure()
    assert session.published("epyc-2-cores-2") == ["scale", "serve"]


def test_a_machine_of_a_kind_that_is_published_gets_a_name_of_its_own(tmp_path: Path) -> None:
    """Another checkout brings the results of another machine, and no record of its sessions."""
    session = Session(tmp_path, [study("scale"), study("serve")])
    other = tmp_path / "published" / "epyc-2-cores" / "tail" / "environment.json"
    other.parent.mkdir(parents=True)
    there = to_builtins(replace(HERE, id="b" * 32))
    other.write_bytes(json.encode({"schema": 1, "machine": there}))
    session.steps().measure()
    assert session.published() == []
    assert session.published("epyc-2-cores-2") == ["scale", "serve"]
    session.steps().measure()
    assert len(session.ran) == 2

    ours = tmp_path / "published" / "epyc-2-cores-2" / "scale" / "environment.json"
    ours.write_bytes(json.encode({"schema": 1, "machine": to_builtins(HERE)}))
    (tmp_path / "reference" / "epyc-2-cores-2" / "reference.json").unlink()
    assert session.steps().name == "epyc-2-cores-2"


def test_a_published_environment_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "published" / "epyc-2-cores" / "tail" / "environment.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{}")
    with pytest.raises(UsageError, match=r"environment\.json: .*machine"):
        Session(tmp_path, [study("scale")]).steps().print_plan()


def test_a_study_that_was_begun_anew_is_the_one_published(tmp_path: Path) -> None:
    """The first could not be resumed: its builds were others."""
    for age, name in enumerate(("scale-pgo", "scale-2", "scale")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").touch()
        os.utime(tmp_path / name / "journal.jsonl", (-age, -age))
    assert newest(tmp_path / "scale").name == "scale-2"


def test_a_session_that_is_terminated_ends_the_study_that_it_runs(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text(SLOW.format(python=sys.executable, patience_s=PATIENCE_S))
    slow.chmod(0o755)
    words = [sys.executable, "-c", SESSION.format(slow=str(slow))]
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, cwd=tmp_path, env=paths) as session:
        wait_until((tmp_path / "running").exists)
        session.send_signal(signal.SIGTERM)
        assert session.wait(PATIENCE_S) == TERMINATED
        assert (tmp_path / "ended").exists()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("AMD EPYC", "epyc-2-cores"),
        ("Intel(R) Xeon(R) Platinum 8488C", "xeon-2-cores"),
        ("Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", "i7-8700-2-cores"),
        ("Neoverse-N1", "neoverse-n1-2-cores"),
        (None, "machine-2-cores"),
    ],
)
def test_a_machine_is_called_after_its_cpu(model: str | None, name: str) -> None:
    assert label(replace(HERE, cpu_model=model)) == name


@pytest.mark.parametrize("each", reference_studies(), ids=lambda each: each.name)
def test_every_study_of_the_list_exists(each: ReferenceStudy) -> None:
    assert each.minutes <= (MOST_MINUTES_IN_FULL if "--full" in each.arguments else MOST_MINUTES)
    command, *rest = each.arguments
    if command == "run":
        assert rest[0] in ("--study", "--workload")
        assert rest[0] == "--workload" or rest[1] in built_in_studies()
    elif command == "app":
        application_study(AppAsked(application=rest[0]))  # else it raises
        assert (ROOT / each.source).is_dir()
    else:
        assert command == "remedies"
    assert all((ROOT / word).exists() for word in rest if word.startswith("tests/"))


def test_batches_are_in_order_and_no_longer_than_an_afternoon() -> None:
    studies = reference_studies()
    assert studies == sorted(studies, key=lambda study: study.batch)
    for batch in {study.batch for study in studies}:
        assert sum(study.minutes for study in studies if study.batch == batch) <= BATCH_MINUTES


def test_a_larger_machine_takes_as_long() -> None:
    """A study whose Ns follow from the machine is fitted to its minutes, but for one of few Ns."""
    fitted = set()
    for study in reference_studies():
        command, *rest = study.arguments
        if command == "run" and rest[0] == "--study" and "--workers" not in rest:
            counts = load_study_file(rest[1]).values.get("workers", ["1..cores"])
            if any(isinstance(n, str) for n in counts) and study.name != "primitives":
                assert rest[rest.index("--time") + 1] == f"{study.minutes:.0f}min"
                assert study.own_workers
                fitted.add(study.name)
    assert fitted == {"compare", "keep-up", "quansight", "scale", "sharing", "tls"}


def test_a_group_stands_for_its_studies_and_has_a_table_of_its_programs(tmp_path: Path) -> None:
    names = [each.name for each in reference_studies(["outside"])]
    assert len(names) == 2 * len(outside_programs())
    assert names[0] == "outside-httpbin"
    assert "outside-httpbin-remedies" in names
    assert reference_studies(["outside", "serve"])[0].name == "serve"
    both = ("outside-shop", "outside-shop-remedies")
    session = Session(tmp_path, [study(name, group="outside") for name in both])
    steps = session.steps()

    def publish(_: Path, folder: Path) -> None:
        of_shop(folder.name).write(folder)

    steps.publish = publish
    steps.measure()
    (table,) = (tmp_path / "published" / "epyc-2-cores").glob("*.md")
    assert "| shop | 2 threads on 3.14t |" in table.read_text()


def of_shop(name: str) -> FakeStudy:
    """The study of an application, or that of its remedies."""
    if name == "outside-shop":
        return FakeAppStudy(parameters={"server": "loops", "application": "shop:app"})
    return with_settings({"nogc": 1.2}, variants={"app": [{"application": "shop:app"}]})
