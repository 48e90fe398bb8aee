"""What more workers gain: N workers over one, at the headline N."""

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.gain import Gain
from scaling.report.tables.findings import Finding
from scaling.report.tables.phrases import workers
from scaling.report.tables.questions.question import Question


def headline_gains(compared: Compared) -> list[Gain]:
    """The headline gains: one for each curve that the study is about."""
    return [gain for gain in compared.gains if gain.is_headline]


def _findings(compared: Compared) -> list[Finding]:
    return [
        Finding(f"{workers(each.of)} over {workers(each.over)} on {each.of.arm}", each.throughput)
        for each in headline_gains(compared)
    ]


QUESTION = Question("curves", findings=_findings)
