"""What the cyclic garbage collector costs: each arm without it over the same arm with it.

The free-threaded build's collector stops every loop of the process at once, so what it costs may
grow with N; `+nogc` stands beside the ladder of arms and is no rung of it (DESIGN.md, Arms).
"""

from collections.abc import Iterator

from scaling.analysis.comparison.contrast import Contrast, contrasts
from scaling.analysis.comparison.paired import Configuration, Paired

WITHOUT = (
    "+nogc"  # the last setting of an arm's name, by the order of `scaling.builds.arms.SETTINGS`
)


def collectors(runs: Paired) -> list[Contrast]:
    """Every arm that was measured with and without the collector, at each N."""
    return contrasts(runs, _pairs(runs))


def _pairs(runs: Paired) -> Iterator[tuple[Configuration, Configuration]]:
    for arm in runs.arms:
        if arm.endswith(WITHOUT):
            for model in runs.models:
                for n in runs.workers:
                    yield (
                        Configuration(arm, model, n),
                        Configuration(arm.removesuffix(WITHOUT), model, n),
                    )
