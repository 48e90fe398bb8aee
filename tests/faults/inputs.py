"""Input that nobody would write: a clear message or a labelled run, never a traceback or a hang."""

import json
import os
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import tomli_w
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.errors import ScalingError
from scaling.builds import environments
from scaling.builds.own_requirements import OwnRequirements
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.machine.topology import Topology
from scaling.report.files import tables_markdown
from scaling.run.app_requests import read_requests_file
from scaling.study.definition import OPTIONS, Options
from scaling.study.file import built_in_studies, read_study, study_from
from scaling.study.plan.cells import make_plan
from tests.faults.attempt import Fault, Try
from tests.faults.pretended import do_study, plan
from tests.faults.records import records
from tests.support.descriptions import description
from tests.support.fake_builds import Uv, answer, interpreter, say_nothing
from workers.services.load.requests_list import BadInputError, read_requests

EXAMPLES = 400
HANGS_S = 20
NEWLINE = ord("\n")
FRAME_EVERY, TABLES_EVERY = 10, 100  # flipped bytes: a frame takes 20 ms, all tables 200 ms
MEMORY = Topology(logical_cpus=2, physical_cores=2)

TEXT = st.text(max_size=12)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
LONG = b'{"weight": %s}'
ODD = [
    b'{"body": "\xe2\x80\xa8"}',
    b'{"body": "\\ud800"}',
    b'{"weight": 1e999}',
    b"nan",
    LONG % (b"1" * 400),
    LONG % (b"1" * 5_000),
]
NESTED = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=4), max_leaves=6)
TOML = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KNOWN = st.sampled_from([*OPTIONS, "preset", "name", "parameters", "windw_s"])
WORDS = st.sampled_from(["echo", "compute", "3.14t", "threads", "asyncio", "weak", "50%", "grid"])


class HangsError(Exception):
    """An example took too long."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise `HangsError` in the block if it takes longer."""

    def late(number: int, frame: FrameType | None) -> None:
        raise HangsError(f"still at it after {seconds} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def attempted(
    do: Callable[[], object], given: object, other: type[Exception] = ScalingError
) -> Try:
    """A try that may end with one of our own errors of one or two lines, and no other."""
    try:
        with within(HANGS_S):
            do()
    except (ScalingError, other) as error:
        lines = str(error).count("\n")
        return Try(problem=f"a message of {lines + 1} lines: {error}" if lines > 1 else "")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return Try(problem=f"{type(error).__name__} at {where}: {error} with {given!r:.300}")
    return Try()


def examples[T](strategy: st.SearchStrategy[T], count: int = EXAMPLES) -> list[T]:
    """So many examples, the same ones each time."""
    found: list[T] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: T) -> None:
        found.append(example)

    collect()
    return found


def study_files(folder: Path) -> Iterator[Try]:
    """Tables with any keys and values, and built-in files with a character changed."""
    workloads = st.lists(st.dictionaries(KNOWN, TOML | WORDS, max_size=4), max_size=3)
    keys = st.dictionaries(KNOWN | TEXT, TOML | WORDS | st.lists(WORDS), max_size=6)
    tables = st.tuples(keys, st.fixed_dictionaries({}, optional={"workloads": workloads | TOML}))
    for first, second in examples(tables):
        yield attempted(partial(_planned, tomli_w.dumps(first | second)), first | second)
    chance = random.Random(1)
    for name in built_in_studies():
        text = (Path(environments.__file__).parents[1] / f"study/builtin/{name}.toml").read_text()
        for _ in range(10):
            place = chance.randrange(len(text))
            changed = text[:place] + chance.choice("\"'[]{}=,.0-9a\n\0é") + text[place + 1 :]
            yield attempted(partial(_planned, changed), changed[place - 40 : place + 40])


def _planned(text: str) -> None:
    file = read_study(text, "mine.toml")
    study = study_from(Options(study="mine"), running_build="3.14t", file=file)
    make_plan(study, dict.fromkeys(study.arms, description()), MEMORY)


def journals_with_a_flipped_byte(folder: Path) -> Iterator[Try]:
    """A bit of each byte of a small journal is flipped: it costs no other line than its own.

    A newline belongs to both lines that it separates.
    """
    do_study(folder, plan("echo", "1"))
    path, chance = folder / FILE_NAME, random.Random(1)
    whole, runs = path.read_bytes(), records(path).total()
    head = len(whole.partition(b"\n")[0]) + 1
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        lost = 0

        def use(place: int = place) -> None:
            nonlocal lost
            with JournalFile(path) as journal:  # as a driver that resumes it
                harmed = 2 if whole[place] == NEWLINE else 1
                lost = max(0, runs - harmed - len(journal.runs)) if place >= head else 0
            if place % FRAME_EVERY == 0:
                found = read_journal(folder)
                if place % TABLES_EVERY == 0:
                    tables_markdown(StudyResults.of(found))

        done = attempted(use, whole[max(0, place - 30) : place + 30])
        yield Try(problem=done.problem, lost=lost)


def request_files(folder: Path) -> Iterator[Try]:
    """Lines of any JSON, of anything at all, and of requests with odd values."""
    keys = st.sampled_from(
        ["method", "path", "headers", "body", "json", "weight", "status", "background"]
    )
    values = (
        PLAIN | st.dictionaries(TEXT, PLAIN, max_size=2) | st.floats(0, 9) | st.integers(0, 600)
    )
    lines = st.dictionaries(keys | TEXT, values | NESTED, max_size=3).map(
        lambda line: json.dumps(line, ensure_ascii=False).encode(errors="replace")
    )
    odd = st.binary(max_size=40) | st.just(b"[" * 100_000) | st.sampled_from(ODD)
    file = folder / "requests.jsonl"
    for number, content in enumerate(examples(st.lists(lines | odd, max_size=3).map(b"\n".join))):
        file.write_bytes(content)
        yield attempted(lambda: _asked(file), content, BadInputError)
        if number % 40 == 0 or b"\xe2\x80\xa8" in content:  # by a process of its own
            yield attempted(lambda: read_requests_file(file), content)


def _asked(file: Path) -> None:
    for each in read_requests(str(file)):
        each.on_http("127.0.0.1:80", "/", keepalive=True)
        each.on_tcp()


def requirements(folder: Path) -> Iterator[Try]:
    """Requirements and files of them with any text; uv refuses all but its own."""
    os.environ["SCALING_CACHE"] = str(folder / "cache")
    file = folder / "requirements.txt"
    for number, text in enumerate(examples(st.text(max_size=300) | st.binary(max_size=40), 200)):
        refusing = Uv(("pip install", answer(stderr=f"error: {text!r}", code=2)))

        def make(text: str | bytes = text, uv: Uv = refusing, number: int = number) -> None:
            own = OwnRequirements(files=[str(file)])
            if isinstance(text, bytes) or number % 2:
                file.write_bytes(text if isinstance(text, bytes) else text.encode(errors="replace"))
            else:
                own = OwnRequirements([text])
            environments.ensure(interpreter(), own=own, say=say_nothing, uv=uv)

        yield attempted(make, text)


FAULTS: dict[str, Fault] = {
    "study files of any kind": study_files,
    "journals with a flipped byte": journals_with_a_flipped_byte,
    "request files of any kind": request_files,
    "requirements of any kind": requirements,
}
