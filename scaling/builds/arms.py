"""Arms: a build plus the run-time settings under comparison, such as `3.14t+gil`.

Settings are declared in `scaling.builds.settings`. The name of an arm lists its settings in the
order of that table, so one arm has one name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from scaling.base.errors import UsageError, unknown
from scaling.base.formats import listed
from scaling.builds import installed
from scaling.builds.cpython import Build, parse_build
from scaling.builds.runtimes import RUNTIMES, Runtime
from scaling.builds.settings import SETTINGS
from scaling.builds.settings.setting import Setting, Value
from scaling.journal.record import Cell, ReadBack

# Variables of the user's shell that must not reach a child. They would change an arm but not its
# name (PYTHON_GIL, PYTHONMALLOC), the imports (PYTHONPATH), the state of glibc's malloc
# (MALLOC_*, GLIBC_TUNABLES), the allocator (LD_PRELOAD), the C code of aiohttp and its packages
# (*_NO_EXTENSIONS), or the telemetry of FastAPI (OTEL_*).
SCRUBBED_PREFIXES = (
    "PYTHON",
    "MALLOC_",
    "MIMALLOC_",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES",
    "AIOHTTP_NO_EXTENSIONS",
    "FROZENLIST_NO_EXTENSIONS",
    "MULTIDICT_NO_EXTENSIONS",
    "PROPCACHE_NO_EXTENSIONS",
    "YARL_NO_EXTENSIONS",
    "OTEL_",
)


PRELOAD = "LD_PRELOAD"


@dataclass(frozen=True, slots=True)
class Arm:
    """A build and the names of its settings, in the order of the table.

    In place of a build it may have a runtime other than Python (`scaling.builds.runtimes`).
    """

    build: Build | Runtime
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The arm's name, such as `3.14t+gil`."""
        return "+".join([self.build.name, *self.settings])

    @property
    def expected(self) -> ReadBack:
        """The facts that every process of a run on this arm must report."""
        if isinstance(self.build, Runtime):
            return ReadBack(loop_class=self.build.loop_class)
        free = self.build.free_threaded
        expected = ReadBack(
            gil_enabled=not free,
            allocator="mimalloc" if free else "pymalloc",
            gc_enabled=True,
        )
        facts: dict[str, str] = {}
        for setting in self._every_setting:
            expected = msgspec.structs.replace(expected, **setting.reads_back)
            facts |= setting.reads_back.get("facts", {})
        return msgspec.structs.replace(expected, switches=self.switches, facts=facts)

    @property
    def without_gil(self) -> bool:
        """True for a build of Python that runs without the GIL."""
        return self.expected.gil_enabled is False

    @property
    def _every_setting(self) -> Iterator[Setting]:
        return (SETTINGS[name] for name in self.settings)

    @property
    def switches(self) -> dict[str, Value]:
        """The switches of all its settings, with their values."""
        return {k: value for each in self._every_setting for k, value in each.switches.items()}

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters of the workload that its settings change."""
        return {k: value for each in self._every_setting for k, value in each.parameters.items()}

    @property
    def cell_fields(self) -> dict[str, object]:
        """The fields that the arm adds to the child's cell."""
        fields: dict[str, object] = {}
        for setting in self._every_setting:
            fields |= setting.cell
        return fields | ({"switches": self.switches} if self.switches else {})

    def loop(self, asked: str) -> str:
        """The loop that runs where a cell asks for a loop: a setting may replace it."""
        return str(self.cell_fields.get("loop", asked))

    def unfit(self, cell: Cell) -> str | None:
        """Reason a setting cannot be used in a cell, or would change nothing there, or None.

        Each setting is checked on the cell as the other settings change it.
        """
        for setting in self._every_setting:
            others = Arm(self.build, tuple(each for each in self.settings if each != setting.name))
            loop, parameters = others.loop(cell.loop), {**cell.parameters, **others.parameters}
            if setting.workloads and cell.workload not in setting.workloads:
                plural = "s" if len(setting.workloads) > 1 else ""
                return f"{setting.name} is for the workload{plural} {listed(setting.workloads)}"
            placed = msgspec.structs.replace(cell, loop=loop, parameters=parameters)
            if reason := setting.unfit(placed):
                return f"{setting.name}: {reason}"
        return None

    def child_environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Variables of a child: `base` without `SCRUBBED_PREFIXES`, plus those of the settings.

        PYTHON_GIL is never set to 0: that would hide an import that needs the GIL.
        """
        kept = {
            name: value
            for name, value in base.items()
            if not name.upper().startswith(SCRUBBED_PREFIXES)
        }
        for setting in self._every_setting:
            kept.update(setting.environment)
            if setting.preload and (path := installed.library(setting.preload)):
                kept[PRELOAD] = str(path)
        return kept


def parse_arm(text: str) -> Arm:
    """The arm of a name: `BUILD`, `BUILD+SETTING+…` or a runtime.

    Raises:
        UsageError: an unknown build or setting, or a setting that does not fit the build.
    """
    build_name, *names = text.strip().split("+")
    if build_name in RUNTIMES:
        if names:
            raise UsageError(
                f"arm {text!r}: {build_name} has no settings, only CPython builds have"
            )
        return Arm(RUNTIMES[build_name])
    try:
        build = parse_build(build_name)
    except UsageError as error:
        raise UsageError(f"arm {text!r}: {error}") from None
    for name in names:
        if name not in SETTINGS:
            raise unknown("setting", name, SETTINGS, where=f"arm {text!r}")
        if names.count(name) > 1:
            raise UsageError(f"arm {text!r}: the setting {name!r} is given twice")
        misfit = SETTINGS[name].misfit(build)
        if misfit is not None:
            raise UsageError(f"arm {text!r}: the setting {name!r} does not fit: {misfit}")
    return Arm(build, tuple(name for name in SETTINGS if name in names))


def switched(arms: Iterable[str]) -> list[str]:
    """A line about each setting with switches in these arms; unknown settings are ignored."""
    names = {name for arm in arms for name in arm.split("+")[1:]}
    return [
        f"+{name}: {setting.summary}."
        for name, setting in SETTINGS.items()
        if name in names and setting.switches
    ]


def build_of(arm: str) -> str:
    """The name of an arm's build or runtime: `3.14t` of `3.14t+gil`."""
    return arm.partition("+")[0]


def settings_of(arm: str) -> list[Setting]:
    """The settings in an arm's name, without unknown ones."""
    return [SETTINGS[name] for name in arm.split("+")[1:] if name in SETTINGS]


def parse_arms(texts: Iterable[str]) -> tuple[Arm, ...]:
    """Several arms in the order given, each once.

    Raises:
        UsageError: as `parse_arm`.
    """
    return tuple(dict.fromkeys(map(parse_arm, texts)))


# ------------------------------------------------------------------------------------- version arms
# The arms of one Python version, and their parts in comparisons: which are rungs of the ladder
# (`scaling.builds.settings.interpreter`), which have the GIL, and which one does not.

# The rungs: the suffix of a version, and what changes from the rung before.
RUNGS = (("", ""), ("+mimalloc", "allocator"), ("t+gil", "build"), ("t", "GIL"))

VERSION = re.compile(r"3\.(\d+)")  # not another runtime


@dataclass(frozen=True, slots=True)
class VersionArms:
    """The arms of a Python version, such as `3.14`, measured or not."""

    version: str

    @property
    def rungs(self) -> tuple[str, ...]:
        """The arms of the ladder, from the bottom."""
        return tuple(self.version + added for added, _ in RUNGS)

    @property
    def with_gil(self) -> tuple[str, str]:
        """The arms with the GIL; the better of them is the baseline."""
        return self.version, f"{self.version}+mimalloc"

    @property
    def free(self) -> str:
        """The arm without the GIL."""
        return f"{self.version}t"

    @property
    def challengers(self) -> list[tuple[str, str]]:
        """Arm and model of the cells that are compared with processes."""
        return [(self.free, "threads"), *((arm, "interpreters") for arm in self.rungs)]

    def changes(self, before: str, after: str) -> str:
        """The differences between two rungs: `allocator`, `allocator and build`."""
        first, last = self.rungs.index(before), self.rungs.index(after)
        *others, name = [change for _, change in RUNGS[first + 1 : last + 1]]
        return f"{', '.join(others)} and {name}" if others else name


def version_arms(arms: Iterable[str]) -> list[VersionArms]:
    """The versions that the arms belong to, in order of appearance.

    Arms beside the ladder (`+nogc`) stand for no version of their own, nor do other runtimes.
    """
    measured = [arm for arm in arms if arm not in RUNTIMES]
    versions = [VersionArms(build_of(arm).removesuffix("t")) for arm in measured]
    rungs = {rung: each for each in versions for rung in each.rungs}
    return list(dict.fromkeys(rungs[arm] for arm in measured if arm in rungs))


def rising(versions: Iterable[str]) -> list[str]:
    """The versions of Python among these, each once, the oldest first."""
    found = {int(match[1]): match[0] for match in map(VERSION.fullmatch, versions) if match}
    return [name for _, name in sorted(found.items())]


def free_arms(arms: Iterable[str]) -> list[str]:
    """The arms without the GIL that the versions of these arms have, measured or not."""
    return [version.free for version in version_arms(arms)]
