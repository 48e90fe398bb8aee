"""Whether memory grows under a long load: its trend after the first part of one run."""

from scaling.analysis.statistics.estimate import Estimate, median
from scaling.journal.beside import SoakRecord

FIRST = 0.1  # so much of a run fills caches and arenas: a minute of ten
HOUR_S = 3600.0


def after_first(run: SoakRecord) -> list[float | None]:
    """Memory from the end of the first tenth on, MiB; None where it is not known."""
    return run.memory_mib[round(FIRST * run.parts) - 1 :]


def ends_mib(run: SoakRecord) -> list[float]:
    """The first and the last known value after the first tenth; empty where there is none."""
    known = [each for each in after_first(run) if each is not None]
    return [known[0], known[-1]] if known else []


def growth(run: SoakRecord) -> Estimate:
    """MiB per hour, after the first tenth: the median of slopes between parts half a run apart.

    Each part is in one slope only (H. Theil, Indagationes Mathematicae 12 (1950), "incomplete
    method"), so that the interval of a median is one for the trend. It says nothing of other runs.
    """
    memory = after_first(run)
    apart = len(memory) // 2
    pairs = zip(memory[:apart], memory[-apart:] if apart else [], strict=True)
    hours = (len(memory) - apart) * run.part_s / HOUR_S
    slopes = [
        (late - early) / hours for early, late in pairs if early is not None and late is not None
    ]
    return median(slopes, "MiB/h")
