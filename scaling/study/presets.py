"""Presets: how often a study repeats each cell and how long it looks. The one table of both.

Throughput varies between runs of a cell, and inside a run. With the variances b between runs and
v(w) of a window of w seconds, and c seconds to start, warm up and close, n = T / (c + w) runs fit
into a time T, and the variance of their mean is (b + v(w)) (c + w) / T. Where v(w) = s / w this is
least at w = sqrt(c s / b) (T. Kalibera, R. Jones, Rigorous Benchmarking in Reasonable Time,
ISMM 2013, 6.1). The components, as medians over the cells of `scale-pgo` and of an earlier
`compare` (no longer published) on the Xeon, standard deviations in %, windows of 2 s:

    workload   cells   a run   inside it, over 0.1 s   0.5 s    1 s   start and close   first 0.1 s
    compute       20    3.4              3.2            3.5     2.9        0.19 s          0.999
    shared        16    4.4              3.1            2.7     2.4        0.16 s          0.996
    echo          42    4.0              3.1            2.6     2.2        0.18 s          0.998
    stream        13    5.4              5.2            3.1     2.8        0.18 s          1.007
    scrape        26    4.6              4.2            3.1     2.8        0.43 s          0.999

So most of the variance lies between runs (b = 4.5² - 2.5² / 2 = 17, s = 6), and with c = 0.4 s the
best window is 0.4 s. The last column is the rate in the first 0.1 s of a window, after a warm-up of
0.3 s, over that of its second half; with a warm-up of 1 ms the first 50 ms of `echo` and `stream`
came out at 1.03 ± 0.03. Nothing is left to warm up after 0.1 s.

Of the variance between runs about two fifths is the machine's: neighbours correlate by 0.3 to 0.4,
runs 16 places apart hardly at all. `scaling.study.plan.order` makes neighbours of the cells whose
ratio is taken. By simulation the half-widths of the twelve gains of `scale` after ten minutes are
0.56 of those with windows of 2 s, a warm-up of 0.3 s and shuffled blocks; of that 0.90 is order.
"""

from typing import NamedTuple


class Preset(NamedTuple):
    """`blocks`: how many times every cell is run; `window_s`: how long each run counts."""

    blocks: int
    window_s: float


# Below, no 95 % interval for a median exists: with n = 5 the whole range covers it in
# 1 - 2/2^5 = 93.75 % of studies.
FEWEST_FOR_INTERVAL = 6

# A workload whose every run failed in so many blocks is not run again: it would fail again.
FAILING_BLOCKS = 2

# The smallest difference worth a word, unless a study says otherwise: code layout and the order of
# runs alone make as much. Mozilla's Perfherder has 2 %, criterion.rs 1 %.
MARGIN = 0.02

# Rates of a grid (`scaling.study.load`): the whole range of a study, over which fewer are spread,
# and the most, of which the lowest is a thousandth of the peak.
GRID_RATES, RATES_MOST = 8, 32

# `smoke` has to be done in five minutes on two cores (study/builtin/scale.toml), and eight blocks
# give intervals that are narrower by a quarter than six. Longer windows than the best one cost
# little precision, and show in `rigorous` what grows or drifts during a run.
PRESETS = {
    "smoke": Preset(blocks=8, window_s=0.4),
    "default": Preset(blocks=20, window_s=1.0),
    "rigorous": Preset(blocks=40, window_s=2.0),
}

DEFAULT_PRESET = "default"
