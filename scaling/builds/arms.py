"""Arms: a build plus the run-time settings under comparison, such as `3.14t+gil`.

A setting is one entry of `scaling.builds.settings`: what it adds to the child's environment or
cell, what must be read back inside the child as proof that it took effect, and where it fits. The
name of an arm lists its settings in the order of the table, so one arm has one name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from scaling.base.errors import UsageError
from scaling.base.formats import listed
from scaling.base.suggest import unknown
from scaling.builds import installed
from scaling.builds.cpython import Build, parse_build
from scaling.builds.runtimes.known import RUNTIMES, Runtime
from scaling.builds.settings import SETTINGS
from scaling.builds.settings.setting import Place, Setting, Value
from scaling.journal.record import ReadBack

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


PRELOAD = "LD_PRELOAD"


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
        facts: dict[str, str] = {}
        for setting in self._every_setting:
            expected = msgspec.structs.replace(expected, **setting.reads_back)
            facts |= setting.reads_back.get("facts", {})
        return msgspec.structs.replace(expected, switches=self.switches, facts=facts)

    @property
    def without_gil(self) -> bool:
        """Whether its processes run without the GIL; a runtime that has none is no such arm."""
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
        """What the arm adds to the child's cell."""
        fields: dict[str, object] = {}
        for setting in self._every_setting:
            fields |= setting.cell
        return fields | ({"switches": self.switches} if self.switches else {})

    def loop(self, asked: str) -> str:
        """The loop that a cell on that loop really has: a setting may put another in its place."""
        return str(self.cell_fields.get("loop", asked))

    def unfit(self, place: Place) -> str | None:
        """Why a setting cannot be used there, or would change nothing; None if all can.

        Each setting is asked about the place as the other settings leave it.
        """
        for setting in self._every_setting:
            others = Arm(self.build, tuple(each for each in self.settings if each != setting.name))
            loop, parameters = others.loop(place.loop), {**place.parameters, **others.parameters}
            if setting.workloads and place.workload not in setting.workloads:
                plural = "s" if len(setting.workloads) > 1 else ""
                return f"{setting.name}: it is for workload{plural} {listed(setting.workloads)}"
            if reason := setting.unfit(replace(place, loop=loop, parameters=parameters)):
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
    """A line for each switch that these arms have, since no figure explains it.

    Arms of a later version are ignored.
    """
    names = {name for arm in arms for name in arm.split("+")[1:]}
    return [
        f"+{name}: {setting.summary}."
        for name, setting in SETTINGS.items()
        if name in names and setting.switches
    ]


def with_settings(arm: str, parameters: Mapping[str, object]) -> dict[str, object]:
    """A workload's parameters as an arm's settings change them; those of a later version do not."""
    settings = (SETTINGS[name] for name in arm.split("+")[1:] if name in SETTINGS)
    changed = {name: value for each in settings for name, value in each.parameters.items()}
    return {**parameters, **changed}


def parse_arms(texts: Iterable[str]) -> tuple[Arm, ...]:
    """Several arms in the order given, each once.

    Raises:
        UsageError: as `parse_arm`.
    """
    return tuple(dict.fromkeys(map(parse_arm, texts)))
