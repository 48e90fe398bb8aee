"""A plan on a terminal: what is run, what cannot be, and how long it takes."""

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from scaling.driver.progress import in_words
from scaling.plan.plan import Plan
from scaling.plan.table import plan_table
from scaling.study.controls import is_control
from scaling.wording import plural


def one_line(plan: Plan) -> str:
    """What a study is about to cost."""
    table = plan_table(plan)
    refused = f"; {plural(len(table.refused), 'combination')} left out" if table.refused else ""
    return (
        f"{table.name}: {plural(table.cells, 'cell')} in {plural(table.blocks, 'block')} = "
        f"{plural(table.runs, 'run')} of {table.run_s:.1f} s, about {in_words(table.total_s)}"
        f"{refused}"
    )


def controls_line(plan: Plan) -> str:
    """What the plan does to find out whether its figures can be believed."""
    if not plan.study.controls:
        return "controls left out: nothing will show whether machine and builds behave"
    added = dict.fromkeys(cell.workload for cell in plan.cells[plan.asked :])
    if added:
        cells = plural(len(plan.cells) - plan.asked, "cell")
        return f"{cells} of these are controls ({', '.join(added)}); --no-controls leaves them out"
    if any(is_control(cell.workload, cell.parameters) for cell in plan.cells):
        return "the controls are among these"
    return "no controls: they tell nothing without two cores"


class PlanView:
    """Renders a plan; give it to a rich console."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the cells, the refusals with their reasons, and the sum."""
        del console, options
        table = plan_table(self._plan)
        cells = Table(box=None, header_style="bold", pad_edge=False)
        for heading in ("workload", "arm", "loop", "model", "sizing"):
            cells.add_column(heading, overflow="fold")
        cells.add_column("N")
        cells.add_column("runs", justify="right")
        cells.add_column("time", justify="right")
        for row in table.rows:
            label = f"{row.workload} ({row.parameters})" if row.parameters else row.workload
            counts = ", ".join(map(str, row.workers))
            cells.add_row(
                label, row.arm, row.loop, row.model, row.sizing, counts, str(row.runs),
                in_words(row.seconds),
            )  # fmt: skip
        yield cells
        if table.refused:
            yield Text("\nleft out", style="bold")
        for refused in table.refused:
            arms = ", ".join(refused.arms)
            what = f"{refused.workload} · {refused.loop} · {arms} · {refused.model}"
            yield Text(f"  {what}: {refused.reason}")
        yield Text(f"\n{controls_line(self._plan)}", style="dim")
        if self._plan.study.pin:
            yield Text("each worker is pinned to a CPU of its own", style="dim")
        yield Text(
            f"\n{one_line(self._plan)}, {table.in_windows:.0%} of it in windows", style="bold"
        )
