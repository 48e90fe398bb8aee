"""What the cyclic garbage collector costs: each arm without it over the same arm with it.

The free-threaded build's collector stops every loop of the process at once, so what it costs may
grow with N; `+nogc` stands beside the ladder of arms and is no rung of it (DESIGN.md, Arms).
"""

from collections.abc import Iterator

from scaling.analysis.comparison.contrast import Held, held
from scaling.analysis.comparison.paired import Paired, Way

WITHOUT = (
    "+nogc"  # the last setting of an arm's name, by the order of `scaling.builds.arms.SETTINGS`
)


def collectors(runs: Paired) -> list[Held]:
    """Every arm that was measured with and without the collector, at each N."""
    return held(runs, _pairs(runs))


def _pairs(runs: Paired) -> Iterator[tuple[Way, Way]]:
    for arm in runs.arms:
        if arm.endswith(WITHOUT):
            for model in runs.models:
                for n in runs.workers:
                    yield Way(arm, model, n), Way(arm.removesuffix(WITHOUT), model, n)
