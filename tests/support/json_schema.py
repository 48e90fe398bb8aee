"""What of JSON Schema (draft 2020-12) the schema of study files uses, checked strictly.

A keyword that is not known here is an error, so that none is passed over in silence.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

ABOUT = {"$schema", "$defs", "title", "description", "default", "deprecated"}
TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
IN_PLACE = {"$ref", "anyOf", "items", "properties", "additionalProperties"}


def is_of_type(value: object, name: str) -> bool:
    return isinstance(value, TYPES[name]) and isinstance(value, bool) == (name == "boolean")


# The keywords that look at a value alone; each applies where the value has the right type.
ALONE: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": is_of_type,
    "enum": lambda value, known: value in known,
    "pattern": lambda value, form: re.search(form, value) is not None,
    "minimum": lambda value, least: value >= least,
    "maximum": lambda value, most: value <= most,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "minItems": lambda value, least: len(value) >= least,
    "required": lambda value, keys: all(key in value for key in keys),
}


def faults(document: object, schema: Mapping[str, Any]) -> list[str]:
    """What in the document does not fit; empty if it is valid."""
    return list(_faults(document, schema, schema, "$"))


def _faults(value: Any, rule: Mapping[str, Any], root: Mapping[str, Any], at: str) -> Iterator[str]:
    assert rule.keys() <= ALONE.keys() | ABOUT | IN_PLACE, f"{at}: a keyword is not known"
    if "type" in rule and not is_of_type(value, rule["type"]):
        yield f"{at}: not of type {rule['type']}"
        return
    for word in rule.keys() & ALONE.keys():
        if not ALONE[word](value, rule[word]):
            yield f"{at}: {word} {rule[word]}"
    if "$ref" in rule:
        yield from _faults(value, root["$defs"][rule["$ref"].rpartition("/")[2]], root, at)
    if "anyOf" in rule and all(list(_faults(value, each, root, at)) for each in rule["anyOf"]):
        yield f"{at}: none of the alternatives"
    for number, each in enumerate(value if "items" in rule else ()):
        yield from _faults(each, rule["items"], root, f"{at}[{number}]")
    properties = rule.get("properties", {})
    for key, each in value.items() if properties else ():
        if key in properties:
            yield from _faults(each, properties[key], root, f"{at}.{key}")
        elif rule.get("additionalProperties") is False:
            yield f"{at}: unknown key {key}"
