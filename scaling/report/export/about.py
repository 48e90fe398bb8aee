"""What goes with a study's figures wherever they go: what they are of, and whether they hold."""

from scaling.analysis.controls import soundness
from scaling.analysis.table.load import Journal


def about(journal: Journal) -> dict[str, str]:
    """Names and values, none of them empty: what was studied, where, and what its controls say."""
    study, machine = journal.study, journal.study.machine
    known = {
        "study": study.name,
        "scaling": study.scaling,
        "seed": study.seed,
        "scale": study.study.get("scale", 1.0),
        "simulated": "true" if study.simulated else "",
        "controls": soundness(journal.frame, study).status,
        "cpu_model_name": machine.cpu_model,
        "cpu_count": machine.logical_cpus,
        "platform": machine.kernel,
    }
    return {name: str(value) for name, value in known.items() if value not in (None, "")}
