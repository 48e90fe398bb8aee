"""What decides about the runs of a user's application besides the parameters of the workload."""

import os
from collections.abc import Mapping
from typing import Self

import msgspec


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that a study sends, as its first line has them: how many, and their digest."""

    count: int
    sha256: str


class ApplicationNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user gives `scaling app` beside the study, as the study's first line has it.

    `requests` None stands for `GET /`. `environment` are the names of the variables that the user
    set. Their values are not published: `environment_digest` only shows that one has changed. It is
    made with a key that stays on the machine, so that nobody can try values; `environment_key` says
    with which. Studies of version 1.0 have none: their digests are plain ones.
    """

    requests: Sent | None = None
    environment: tuple[str, ...] = ()
    environment_digest: str = ""
    environment_key: str = ""

    @classmethod
    def of(cls, requests: Sent | None, variables: Mapping[str, str]) -> Self:
        """That of these requests and variables.

        Raises:
            ScalingError: the machine's key cannot be kept.
        """
        from scaling.machine.identity import keyed_digest, state_folder

        if not variables:
            return cls(requests=requests)
        text = "\0".join(f"{name}={value}" for name, value in sorted(variables.items()))
        digest, key = keyed_digest(text, state_folder(os.environ))
        return cls(
            requests=requests,
            environment=tuple(sorted(variables)),
            environment_digest=digest,
            environment_key=key,
        )
