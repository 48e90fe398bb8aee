"""Results that wait for their verdicts, which depend on all hypotheses of the study."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from scaling.analysis.statistics.verdict import Hypothesis, RatioVerdict, judge


class Pending[T](NamedTuple):
    """A result that lacks its verdicts: they depend on all hypotheses of the study.

    `complete` takes the verdicts on `hypotheses`, in their order, and no more of them.
    """

    hypotheses: list[Hypothesis]
    complete: Callable[[Iterator[RatioVerdict]], T]

    def judged(self) -> T:
        """The result, as if it were all that the study asks."""
        return judge_together([self])[0]


def combined[T](make: Callable[..., T], **parts: Pending[Any]) -> Pending[T]:
    """What `make` makes of the completed parts, which it takes by name."""

    def complete(verdicts: Iterator[RatioVerdict]) -> T:
        return make(**{name: part.complete(verdicts) for name, part in parts.items()})

    return Pending([each for part in parts.values() for each in part.hypotheses], complete)


def judge_together[T](results: Sequence[Pending[T]]) -> list[T]:
    """The results, completed with verdicts that are corrected over all of their hypotheses."""
    verdicts = iter(judge([each for result in results for each in result.hypotheses]))
    return [result.complete(verdicts) for result in results]
