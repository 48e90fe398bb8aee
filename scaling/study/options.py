"""What the command line says about a study, read into the same shape as a study file.

One shape means one way of merging and one set of checks for both (`scaling.study.definition`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from scaling.base.errors import UsageError
from scaling.study.file import StudyFile

# The flag that says each key of a study file.
FLAGS = {
    "arms": "--arm",
    "blocks": "--blocks",
    "controls": "--controls",
    "limit_s": "--limit",
    "loops": "--loop",
    "max_blocks": "--max-blocks",
    "models": "--model",
    "pin": "--pin",
    "precision": "--precision",
    "preset": "--preset",
    "scale": "--scale",
    "seed": "--seed",
    "sizing": "--sizing",
    "twins": "--twins",
    "window_s": "--seconds",
    "workers": "--workers",
    "workloads": "--workload",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The flags as typed. Those of several values may be `1,2,4`, repeated, or both.

    `set` are the `--set workload.parameter=value[,value…]`; empty or None: not said.
    """

    study: str | None = None
    workload: tuple[str, ...] = ()
    loop: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    arm: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    sizing: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    seconds: float | None = None
    limit: float | None = None
    preset: str | None = None
    blocks: int | None = None
    precision: str | None = None
    max_blocks: int | None = None
    scale: str | None = None
    seed: int | None = None
    controls: bool | None = None
    twins: bool | None = None
    pin: bool | None = None

    @property
    def workload_names(self) -> tuple[str, ...]:
        """The workloads asked for, each once; those with a colon are a user's own."""
        return listed(self.workload, FLAGS["workloads"]) or ()

    def as_file(self) -> StudyFile:
        """What a study file would say that says the same, the workloads left out.

        Raises:
            UsageError: a flag with nothing in it, or a worker count that is no whole number.
        """
        return StudyFile(
            preset=self.preset,
            blocks=self.blocks,
            precision=self.precision,
            max_blocks=self.max_blocks,
            scale=self.scale,
            window_s=self.seconds,
            limit_s=self.limit,
            seed=self.seed,
            controls=self.controls,
            twins=self.twins,
            pin=self.pin,
            arms=listed(self.arm, FLAGS["arms"]),
            models=listed(self.model, FLAGS["models"]),
            loops=listed(self.loop, FLAGS["loops"]),
            workers=_whole_numbers(listed(self.workers, FLAGS["workers"])),
            sizing=listed(self.sizing, FLAGS["sizing"]),
        )


def listed(texts: Iterable[str], flag: str) -> tuple[str, ...] | None:
    """The values of a flag given as `a,b`, repeated, or both, each once; None if never given.

    Raises:
        UsageError: the flag was given with no value in it.
    """
    texts = tuple(texts)
    values = tuple(dict.fromkeys(part.strip() for text in texts for part in text.split(",")))
    if "" in values:
        raise UsageError(f"{flag}: expected values such as 1,2,4 or a,b, got {','.join(texts)!r}")
    return values or None


def _whole_numbers(texts: tuple[str, ...] | None) -> tuple[int, ...] | None:
    if texts is None:
        return None
    for text in texts:
        if not text.removeprefix("-").isdecimal():
            raise UsageError(f"{FLAGS['workers']}: expected whole numbers, got {text!r}")
    return tuple(map(int, texts))
