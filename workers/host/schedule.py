"""The schedule of a window: instants that are computed once and used by every worker."""


def schedule(opens_ns: int, window_s: float, ticks: int) -> list[int]:
    """Instants (monotonic ns) that cut a window of `window_s` into `ticks` equal parts.

    There are `ticks + 1` of them: the first opens the window, the last closes it.
    """
    step_ns = window_s * 1e9 / ticks
    return [opens_ns + round(k * step_ns) for k in range(ticks + 1)]
