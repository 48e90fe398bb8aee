"""One plot shows every published program: a line each, threads over the best processes in
throughput, memory and CPU time, with intervals and words.
"""

import numpy as np
import pandas as pd
from matplotlib.collections import PathCollection

from scaling.analysis.tables.cells import names
from scaling.report.csv import comparison
from scaling.report.index import FIGURES
from scaling.report.programs import PANELS, programs
from scaling.report.render.svg import svg
from tests.support.studies import FakeStudy


def published(study: str, date: str, **changes: object) -> pd.DataFrame:
    """The rows of a study as the index reads them."""
    usual = {"arms": ("3.14", "3.14t"), "models": ("threads", "processes"), "workers": (1, 2)}
    made = FakeStudy(**{**usual, "blocks": 6, **changes}).study  # type: ignore[arg-type]
    rows = comparison(made).rename(columns=FIGURES)
    rows = rows[rows["headline"] & (rows["model"] == "threads") & (rows["arm"] == "3.14t")]
    return rows.assign(machine="a-machine", study=study, date=date, name=names(rows))


def test_a_line_for_each_program_and_a_column_for_each_measure() -> None:
    rows = pd.concat(
        [
            published("app-shop", "2026-11-20"),
            published("outside-pages", "2026-11-21", seed=2),
            published("serve", "2026-11-22", seed=3, loops=("asyncio", "uvloop")),
        ],
        ignore_index=True,
    )
    picture = programs(rows)
    axes = picture.figure.axes
    assert [each.get_title(loc="left") for each in axes] == list(PANELS.values())
    shown = [label.get_text() for label in axes[0].get_yticklabels()]
    assert shown == ["pages", "shop", "echo · asyncio", "echo · uvloop"]
    for panel in axes:
        (dots,) = [each for each in panel.collections if isinstance(each, PathCollection)]
        assert len(np.asarray(dots.get_offsets())) == len(panel.texts) == len(shown)
    assert {text.get_text() for text in axes[0].texts} <= set(rows["said"])
    assert "shop, throughput: " in picture.description
    assert svg(picture.figure, "programs", "programs").startswith('<svg role="img"')


def test_of_a_program_that_was_measured_again_the_latest_is_shown() -> None:
    old, new = (published("app-shop", f"2026-11-2{day}", seed=day) for day in (0, 1))
    latest = programs(pd.concat([new, old], ignore_index=True))
    assert latest.description == programs(new).description
    assert latest.description != programs(old).description
