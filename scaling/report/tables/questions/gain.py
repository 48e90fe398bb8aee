"""What more workers gain: N workers over one, at the headline N."""

from scaling.analysis.comparison.compare import Compared
from scaling.report.tables.findings import Finding
from scaling.report.tables.phrases import workers
from scaling.report.tables.questions.question import Question


def _findings(compared: Compared) -> list[Finding]:
    return [
        Finding(f"{workers(each.of)} over {workers(each.over)} on {each.of.arm}", each)
        for each in compared.headline_gains
    ]


QUESTION = Question("curves", findings=_findings)
