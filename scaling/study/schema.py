"""The JSON Schema of study files, with which an editor completes and checks them."""

from typing import Any

import msgspec

from scaling.study.file import FILE

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ABOUT = "A study of how asyncio scales, for: scaling run --study FILE.toml"


def study_schema() -> dict[str, Any]:
    """The schema, made from the shape that study files are read into."""
    return {"$schema": DIALECT, "description": ABOUT, **msgspec.json.schema(FILE)}
