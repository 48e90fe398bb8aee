"""`python -m workers --describe` lists what can be run here, and why the rest cannot."""

import json
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import workers.workloads.compute
from scaling.builds.arms import parse_arm
from scaling.journal.record import Cell, Description, ParameterFacts, decode_description
from tests.support.children import BEGINNING, OF_COMPUTE, Own, captured, finish, unknown_keys
from tests.support.once import made_once
from workers.loops import LOOPS
from workers.worker.workload import built_in, load_workload

pytestmark = pytest.mark.one_build

OURS = {name for name, loop in LOOPS.items() if loop.library == "asyncio"}

NAP = '''
    print("imported")

    @dataclass
    class Theirs(Workload):
        """Naps.

        One operation: one nap."""

        operation = "naps"
        in_flight = "beds"
        services = ("site",)

        pause_s: float = parameter(0.001, "how long a nap is, s", at_least=0)
        beds: int = parameter(2, "naps at a time", at_least=1)
        kind: Literal["light", "deep"] = parameter("light", "how to nap")
        alarm: bool = parameter(False, "whether it rings")

        @classmethod
        def refuses(cls, model: str, loop: str) -> str | None:
            return "too loud there" if (model, loop) == ("threads", "uvloop") else None

        async def run(self, worker: Worker) -> None:
            while worker.running:
                await asyncio.sleep(self.pause_s)
                worker.operations += 1
    '''


@pytest.fixture
def here(described_here: Description) -> Description:
    return described_here


def test_built_in_workloads_with_their_parameters(here: Description) -> None:
    assert set(built_in()) <= set(here.workloads)
    assert all(load_workload(name).operation for name in built_in())
    echo = here.workloads["echo"]
    assert echo.path == "workers.workloads.echo:Echo"
    assert (echo.operation, echo.in_flight, echo.refused) == ("round trips", "connections", None)
    assert echo.parameters["connections"] == ParameterFacts(
        type="int",
        default=8,
        at_least=1,
        summary="connections per worker, each with one payload in flight",
    )
    assert echo.parameters["api"].choices == ["protocol", "buffered", "streams"]
    rate = here.workloads["serve"].parameters["rate_per_s"]
    assert (rate.default, rate.at_least, rate.at_most) == (0.0, 0.01, 1_000_000)
    for workload in here.workloads.values():
        assert workload.summary
        assert all(parameter.summary for parameter in workload.parameters.values())
    assert here.workloads["gather"].whole == "fan_out"  # what scaling must not divide
    (uneven,) = here.workloads["handoff"].uneven
    assert uneven.parameters == {"pattern": "into-one"}
    assert "its share would be missing" in uneven.reason


@pytest.mark.slow
def test_every_loop_is_listed_with_its_version_or_has_the_reason(
    here: Description, tmp_path: Path
) -> None:
    for name, offer in here.loops.items():
        assert offer.refused is None
        assert offer.version == here.packages.get(LOOPS[name].module, here.python.version)
    (tmp_path / "trio.py").write_text("raise ImportError('no luck')")
    (tmp_path / "rloop.py").write_text("1 / 0")
    program = "from workers.describe import _loop\nimport sys\n"
    program += "print(*[_loop(name)['refused'] for name in sys.argv[1:]], sep='; ')"
    command = [sys.executable, "-c", program, "asyncio", "trio", "anyio/trio", "rloop"]
    none, broken = "not installed: no luck", "ZeroDivisionError: division by zero"
    assert captured(command, tmp_path).stdout == f"None; {none}; {none}; {broken}\n"


def test_refusals_are_those_of_a_sub_interpreter_that_tried(here: Description) -> None:
    """A parser that is refused there is no reason against the others."""
    assert here.models["interpreters"].refused is None
    reasons = {
        (name, each.model, each.loop, *each.parameters.items()): each.reason
        for name, workload in here.workloads.items()
        for each in workload.refusals
    }
    why = reasons["echo", "interpreters", "uvloop"]
    assert "uvloop" in why
    assert "does not support loading in subinterpreters" in why
    on_asyncio = [name for name in reasons if name[1:3] == ("interpreters", "asyncio")]
    assert [name for name in on_asyncio if name[0] == "echo" and len(name) == 3] == []
    scrape = [name for name in on_asyncio if name[0] == "scrape"]
    assert scrape == [("scrape", "interpreters", "asyncio", ("parser", "lexbor"))]
    others = set(here.loops) - OURS
    assert others == {"trio", "anyio/asyncio", "anyio/trio"}
    of_others = {name[1:]: why for name, why in reasons.items() if name[0] == "compute"}
    assert {name for name in of_others if name[1] not in OURS} == {
        (model, loop) for model in here.models for loop in others
    }
    assert {of_others["threads", each] for each in others} == {"runs only on asyncio's loops"}


def test_what_has_no_sockets_is_known_to_the_setting_of_sockets(here: Description) -> None:
    """A setting is asked about a cell alone, so it has the names of these workloads."""
    arm = parse_arm("3.14t+recv64k")
    echo = Cell(workload="echo", loop="asyncio", arm=arm.name, model="threads", workers=1)
    reasons = {name: arm.unfit(replace(echo, workload=name)) or "" for name in built_in()}
    told = {name for name, reason in reasons.items() if "reads no socket" in reason}
    cached = replace(echo, workload="cache", parameters={"cache": "valkey"})  # read from a socket
    assert arm.unfit(cached) is None
    facts = {name: here.workloads[name] for name in built_in()}
    assert told == {name for name, its in facts.items() if not (its.descriptors or its.served)}


PICKY = """
    @dataclass
    class Theirs(Workload):
        way: Literal["one", "two", "three"] = parameter("one", "which way")
        size: Literal["small", "large"] = parameter("small", "how large")

        def load(self) -> None:
            if self.way != "two":
                raise ImportError(f"no {self.way}")
    """

NONE_OF_THEM = {
    "lacks": (
        "import no_such_package.part",
        "ModuleNotFoundError: No module named 'no_such_package'. Install what it is part of with",
    ),
    "exits": ("sys.exit('not today')", "SystemExit: not today"),
    "other": ("Theirs = 7", "UnknownWorkloadError: other has no workload 'Theirs'"),
    "open": (
        "@dataclass\nclass Theirs(Workload):\n  size: int",
        "ParameterError: Theirs.size: a parameter is a bool, int, float, str or Literal",
    ),
    "unscaled": (
        "@dataclass\nclass Theirs(Workload):\n  scaled = ('size',)\n  n: int = parameter(1, 'x')",
        "ParameterError: Theirs: 'size' is not one of its int parameters",
    ),
    "short": (
        "class Theirs(Workload):\n  @classmethod\n  def refuses(cls): return None",
        "TypeError: Theirs.refuses() takes 1 positional argument but ",
    ),
}

# A message of a module's own, and a part missing of what is installed.
INSTALLED = {
    "renamed": (
        "raise ModuleNotFoundError('renamed in version 2', name='pytest')",
        "ModuleNotFoundError: renamed in version 2",
    ),
    "part": ("import json.nothing", "ModuleNotFoundError: No module named 'json.nothing'"),
}

# Imports that start a thread; it waits, as those of a library do.
THREADED = """
    import threading
    from workers.workloads.compute import Compute
    threading.Thread(target=threading.Event().wait, daemon=True).start()

    class Theirs(Compute):
        pass
    """
ONE_CHOICE_IS = """
    import threading
    from workers.workloads.compute import Compute

    @dataclass
    class Theirs(Compute):
        kind: Literal["plain", "threaded", "other"] = parameter("plain", "what it loads")

        def load(self) -> None:
            if self.kind == "threaded":
                threading.Thread(target=threading.Event().wait, daemon=True).start()
    """
OWN = {
    "nap": NAP,
    "picky": PICKY,
    "threaded": THREADED,
    "choosing": ONE_CHOICE_IS,
    **{module: source for module, (source, _) in (NONE_OF_THEM | INSTALLED).items()},
}

ENTRY_POINTS = {
    "METADATA": "Metadata-Version: 2.1\nName: nap\nVersion: 1.0\n",
    "top_level.txt": "nap\n",
    "entry_points.txt": "[scaling.workloads]\nnap = nap:Theirs\n",
}


@pytest.fixture(scope="module")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with workloads of a user's own, and what a child there can run."""

    def describe(folder: Path) -> None:
        for module, source in OWN.items():
            (folder / f"{module}.py").write_text(BEGINNING + textwrap.dedent(source))
        about = folder / "nap-1.0.dist-info"
        about.mkdir()
        for name, text in ENTRY_POINTS.items():
            (about / name).write_text(text)
        named = (
            word
            for module in (*OWN, "nowhere")
            if module != "nap"  # it has a name
            for word in ("--workload", f"{module}:Theirs")
        )
        done = captured([sys.executable, "-c", OF_COMPUTE, "--describe", *named], folder)
        assert done.returncode == 0, done.stderr
        (folder / "description.json").write_text(done.stdout)

    return made_once(tmp_path_factory, "described-own", describe)


@pytest.fixture
def with_own(own_folder: Path) -> Description:
    return decode_description((own_folder / "description.json").read_bytes())


@pytest.mark.slow
def test_own_workload_is_refused_with_the_choices_that_cannot_be_loaded(
    with_own: Description,
) -> None:
    for module, (_, reason) in NONE_OF_THEM.items():
        assert (with_own.workloads[f"{module}:Theirs"].refused or "").startswith(reason)
    for module, (_, reason) in INSTALLED.items():
        assert with_own.workloads[f"{module}:Theirs"].refused == reason
    assert (with_own.workloads["nowhere:Theirs"].refused or "").endswith("with --path")
    assert with_own.workloads["compute"].refused is None
    picky = with_own.workloads["picky:Theirs"]
    assert picky.refused is None
    here = [each for each in picky.refusals if (each.model, each.loop) == ("threads", "asyncio")]
    assert [(each.reason, each.parameters) for each in here] == [
        ("ImportError: no one", {"way": "one"}),
        ("ImportError: no three", {"way": "three"}),
    ]


@pytest.mark.slow
def test_own_workload_by_entry_point(own_folder: Path, with_own: Description) -> None:
    nap = with_own.workloads["nap"]
    assert (nap.path, nap.summary, nap.operation) == ("nap:Theirs", "Naps.", "naps")
    assert (nap.in_flight, nap.services, nap.finite) == ("beds", ["site"], False)
    refused = [(each.model, each.loop) for each in nap.refusals]
    assert [each for each in refused if each[1] in ("asyncio", "uvloop")] == [
        ("threads", "uvloop"),
        ("interpreters", "uvloop"),
    ]
    assert nap.refusals[0].reason == "too loud there"
    assert {key: (facts.type, facts.default) for key, facts in nap.parameters.items()} == {
        "pause_s": ("float", 0.001),
        "beds": ("int", 2),
        "kind": ("str", "light"),
        "alarm": ("bool", False),
    }
    assert with_own.packages["nap"] == "1.0"
    cell = {"workload": nap.path, "parameters": {"beds": 1}}
    assert finish(cell, own_folder).record.workers[0].ticks.operations[-1] > 0


@pytest.mark.slow
def test_imports_that_start_threads_are_refused_where_they_would_be_forked(
    here: Description, with_own: Description, own: Own
) -> None:
    """Only the choice that does where there is one; the run says the same."""
    failure = own.failure(THREADED, model="forked")
    assert failure.phase == "import"
    assert failure.error.startswith("RuntimeError: imports start threads (1)")
    found = here.workloads | with_own.workloads
    always, sometimes = found.pop("threaded:Theirs"), found.pop("choosing:Theirs")
    reasons = {each.model: each.reason for each in always.refusals if each.loop == "asyncio"}
    assert not {"threads", "processes", "mixed"} & set(reasons)
    assert failure.error.endswith(reasons["forked"])
    why = "imports start threads (1), which a forked process would not have"
    assert [
        (each.model, each.parameters, each.reason.partition(":")[0])
        for each in sometimes.refusals
        if each.loop == "asyncio" and each.model != "interpreters"
    ] == [(model, {"kind": "threaded"}, why) for model in ("forked", "mixed-forked")]
    assert not [
        each
        for facts in found.values()
        for each in facts.refusals
        if "start threads" in each.reason and each.parameters != {"kind": "frame"}  # NumPy's
    ]


@pytest.mark.slow
def test_every_field_of_a_description_is_known(own_folder: Path, with_own: Description) -> None:
    printed = json.loads((own_folder / "description.json").read_bytes())
    assert unknown_keys(printed, msgspec.to_builtins(with_own)) == []


def test_a_file_in_the_folder_of_workloads_is_a_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(workers.workloads.compute.__file__).read_text()
    (tmp_path / "busy_work.py").write_text(source.replace("class Compute", "class BusyWork"))
    monkeypatch.setattr(workers.workloads, "__path__", [str(tmp_path)])
    assert built_in() == {"busy-work": "workers.workloads.busy_work:BusyWork"}
    assert load_workload("busy-work").__name__ == "BusyWork"
