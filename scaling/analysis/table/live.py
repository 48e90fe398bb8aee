"""The frame of a study that is still being measured, from the runs that are in memory."""

from collections.abc import Sequence

import pandas as pd

from scaling.analysis.table.batches import expectations
from scaling.analysis.table.mixing import mark_mixed_states
from scaling.analysis.table.outliers import label_outliers
from scaling.analysis.table.rows import columns_of
from scaling.analysis.table.typed import frame_of
from scaling.journal.record import RunLine, StudyLine


def live_frame(runs: Sequence[RunLine], study: StudyLine) -> pd.DataFrame:
    """The table that `scaling.load` would make of the study's journal at this moment."""
    frame = mark_mixed_states(frame_of(columns_of(runs, study, expectations(study))))
    return frame.assign(outlier=label_outliers(frame))
