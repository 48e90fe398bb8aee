"""Arms: a build plus the run-time settings under comparison, such as `3.14t+gil`.

A setting is one entry in `SETTINGS`: what it adds to the child's environment or cell, what must be
read back inside the child as proof that it took effect, and which builds it fits. The name of an
arm lists its settings in the order of the table, so one arm has one name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.builds.interpreters.builds import Build, parse_build
from scaling.builds.runtimes.known import RUNTIMES, Runtime
from scaling.journal.record import ReadBack

# The summary of settings that a source describes and CPython does not have.
NOT_IN_CPYTHON = "a switch that one of the claims is about; nothing in CPython reads it"
IO_URING = "PYTHONASYNCIOUSEIOURING"

# CPython's mimalloc came with free-threading (PEP 703).
OLDEST_MIMALLOC_MINOR = 13

# What is often recommended for web servers instead of switching the collector off.
RARE_COLLECTIONS = 50_000

# Variables of the user's shell that must not reach a child, since they would change an arm behind
# its name (PYTHON_GIL, PYTHONMALLOC), what is imported (PYTHONPATH), the state of glibc's malloc
# (MALLOC_*, GLIBC_TUNABLES), the allocator (LD_PRELOAD), the C code of aiohttp and its packages
# (*_NO_EXTENSIONS), or what FastAPI reports to others of each request (OTEL_*).
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One run-time setting: how it is made, how it is verified, which builds it fits.

    `environment` are the child's variables, `cell` the fields of its cell, `reads_back` the fields
    of `ReadBack` that it changes; `misfit` returns why a build cannot have it, or None.

    `switches` have no effect that could be read back, so they are read back themselves, by name:
    variables of the `environment`, or attributes of modules (with dots), which the child sets
    before it makes a loop.
    """

    name: str
    summary: str
    environment: Mapping[str, str] = field(default_factory=dict)
    cell: Mapping[str, bool | int] = field(default_factory=dict)
    reads_back: Mapping[str, Any] = field(default_factory=dict)
    switches: Mapping[str, bool | str] = field(default_factory=dict)
    misfit: Callable[[Build], str | None] = lambda _build: None


def _gil_misfit(build: Build) -> str | None:
    if build.free_threaded:
        return None
    return f"{build.name} always has its GIL; the setting is for a free-threaded build"


def _mimalloc_misfit(build: Build) -> str | None:
    if build.free_threaded:
        return f"{build.name} always uses mimalloc; the setting is for a build with the GIL"
    if build.minor < OLDEST_MIMALLOC_MINOR:
        return f"{build.name} has no mimalloc in it; it came with 3.{OLDEST_MIMALLOC_MINOR}"
    return None


SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            name="gil",
            summary="the free-threaded build with its GIL switched on",
            environment={"PYTHON_GIL": "1"},
            reads_back={"gil_enabled": True},
            misfit=_gil_misfit,
        ),
        Setting(
            name="mimalloc",
            summary="the GIL build with the free-threaded build's allocator",
            environment={"PYTHONMALLOC": "mimalloc"},
            reads_back={"allocator": "mimalloc"},
            misfit=_mimalloc_misfit,
        ),
        Setting(
            name="io-uring",
            summary=NOT_IN_CPYTHON,
            environment={IO_URING: "1"},
            switches={IO_URING: "1"},
        ),
        Setting(
            name="new-scheduler",
            summary=NOT_IN_CPYTHON,
            switches={"asyncio.events._USE_NEW_SCHEDULER": True},
        ),
        Setting(
            name="nogc",
            summary="the cyclic garbage collector switched off",
            cell={"gc": False},
            reads_back={"gc_enabled": False},
        ),
        Setting(
            name="gc50k",
            summary="the collector starts after 50,000 new objects (2,000 by default in 3.14)",
            cell={"gc_threshold": RARE_COLLECTIONS},
            reads_back={"gc_threshold": RARE_COLLECTIONS},
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Arm:
    """A build and the names of its settings, in the order of the table.

    Instead of a build it may have a runtime other than Python (`scaling.builds.runtimes`).
    """

    build: Build | Runtime
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The arm's name, such as `3.14t+gil`."""
        return "+".join([self.build.name, *self.settings])

    @property
    def expected(self) -> ReadBack:
        """What every process of a run on this arm must report."""
        if isinstance(self.build, Runtime):
            return ReadBack(loop_class=self.build.loop_class)
        free = self.build.free_threaded
        expected = ReadBack(
            gil_enabled=not free,
            allocator="mimalloc" if free else "pymalloc",
            gc_enabled=True,
        )
        for name in self.settings:
            expected = replace(expected, **SETTINGS[name].reads_back)
        return replace(expected, switches=self.switches)

    @property
    def switches(self) -> dict[str, bool | str]:
        """The switches of all its settings, with their values."""
        return {
            switch: value
            for name in self.settings
            for switch, value in SETTINGS[name].switches.items()
        }

    @property
    def cell_fields(self) -> dict[str, object]:
        """What the arm adds to the child's cell."""
        cells = [SETTINGS[name].cell for name in self.settings]
        fields = {key: value for cell in cells for key, value in cell.items()}
        return fields | ({"switches": self.switches} if self.switches else {})

    def child_environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Variables of a child: `base` without `SCRUBBED_PREFIXES`, plus those of the settings.

        PYTHON_GIL is never set to 0: that would hide an import that needs the GIL.
        """
        kept = {
            name: value
            for name, value in base.items()
            if not name.upper().startswith(SCRUBBED_PREFIXES)
        }
        for name in self.settings:
            kept.update(SETTINGS[name].environment)
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
    """A line for each switch that these arms have, since no figure explains it.

    Arms of a later version are ignored.
    """
    names = {name for arm in arms for name in arm.split("+")[1:]}
    return [
        f"+{name}: {setting.summary}."
        for name, setting in SETTINGS.items()
        if name in names and setting.switches
    ]


def parse_arms(texts: Iterable[str]) -> tuple[Arm, ...]:
    """Several arms in the order given, each once.

    Raises:
        UsageError: as `parse_arm`.
    """
    return tuple(dict.fromkeys(map(parse_arm, texts)))
