"""Columns of what was found against a run."""

from scaling.analysis.table.column import FLAG, OBJECT, WORD, Column
from scaling.analysis.validity import validity

JUDGED = {
    "valid": Column(
        read=lambda rows: [severity != "invalid" for severity in rows["validity"]],
        dtype=FLAG,
        definition="whether averages may use the run: validity is not `invalid`",
    ),
    "validity": Column(
        read=lambda rows: list(map(validity, rows.findings)),
        dtype=WORD,
        definition="valid, suspect (used, and marked) or invalid (never used)",
    ),
    "reasons": Column(
        read=lambda rows: [tuple([each.word for each in found]) for found in rows.findings],
        dtype=OBJECT,
        definition="why not valid: words of scaling.analysis.validity, a tuple",
    ),
    "details": Column(
        read=lambda rows: [tuple([each.detail for each in found]) for found in rows.findings],
        dtype=OBJECT,
        definition="the same in sentences, with figures and names, a tuple",
    ),
    "outlier": Column(
        read=lambda rows: [False] * len(rows.runs),  # `label_outliers` needs all runs of a cell
        dtype=FLAG,
        definition="throughput far from that of the other runs of its cell; labelled, never "
        "dropped",
    ),
    "finite": Column(
        read=lambda rows: [record is not None and record.finite for record in rows.records],
        dtype=FLAG,
        definition="whether workers do a stated number of operations, and are done",
    ),
}
