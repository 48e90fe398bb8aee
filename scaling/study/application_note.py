"""What decides about the runs of a user's application besides the parameters of the workload."""

import msgspec


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that a study sends, as its first line has them: how many, and their digest."""

    count: int
    sha256: str


class ApplicationNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user gives `scaling app` beside the study, as the study's first line has it.

    `requests` None stands for `GET /`. `environment` are the names of the variables that the user
    set. Their values are not published: `environment_digest` only shows that one has changed.
    """

    requests: Sent | None = None
    environment: tuple[str, ...] = ()
    environment_digest: str = ""
