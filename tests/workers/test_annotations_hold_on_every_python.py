"""From 3.12 on every annotation can be evaluated: before 3.14 it is, as soon as it is met.

What is imported for type checkers alone, or defined further down, is not there at that moment.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_build

ROOT = Path(__file__).parents[2]
FILES = sorted(path for room in ("scaling", "workers") for path in (ROOT / room).rglob("*.py"))
OLDEST = (3, 12)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NEVER = 10**9  # no file is that long


def too_early(source: str) -> list[str]:
    """Names in annotations that would raise a NameError, each with its line."""
    tree = ast.parse(source, feature_version=OLDEST)
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        return []
    never = dict.fromkeys(for_type_checkers(tree), NEVER)
    later = {name: line for node in reversed(tree.body) for name, line in bound_by(node)} | never
    met = Annotations()
    met.visit(tree)
    return [
        f"{name.id}, line {name.lineno}"
        for annotation, on_a_call in met.found
        for name in ast.walk(annotation)
        if isinstance(name, ast.Name)
        if name.lineno < (never if on_a_call else later).get(name.id, 0)
    ]


def for_type_checkers(tree: ast.Module) -> Iterator[str]:
    """What is imported under `if TYPE_CHECKING`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.body:
                if isinstance(statement, ast.Import | ast.ImportFrom):
                    yield from (each.asname or each.name for each in statement.names)


def bound_by(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Names that a statement of a module binds, and the first line on which they can be used."""
    after = (node.end_lineno or node.lineno) + 1
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, after
    elif isinstance(node, ast.TypeAlias):
        yield node.name.id, after
    elif isinstance(node, ast.Assign):
        yield from ((each.id, after) for each in node.targets if isinstance(each, ast.Name))


class Annotations(ast.NodeVisitor):
    """Every annotation that is evaluated, and whether that waits for the call of a function.

    Those of a function's own variables never are, and neither is what a `type` stands for.
    """

    def __init__(self) -> None:
        self.found: list[tuple[ast.expr, bool]] = []
        self._scopes: list[ast.AST] = []

    def visit(self, node: ast.AST) -> None:
        on_a_call = any(isinstance(each, FUNCTIONS) for each in self._scopes)
        if isinstance(node, ast.TypeAlias):
            return
        if isinstance(node, ast.AnnAssign) and not isinstance(self._scopes[-1], FUNCTIONS):
            self.found.append((node.annotation, on_a_call))
        if isinstance(node, FUNCTIONS):
            its = node.args
            every = [*its.posonlyargs, *its.args, *its.kwonlyargs, its.vararg, its.kwarg]
            signature = [*(each.annotation for each in every if each), node.returns]
            self.found += [(each, on_a_call) for each in signature if each]
        is_scope = isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
        self._scopes += [node] * is_scope
        self.generic_visit(node)
        if is_scope:
            self._scopes.pop()


GUARDED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import B\n"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (f"{GUARDED}def f(*, b: list[B]) -> None: ...\n", ["B, line 4"]),
        (f"{GUARDED}def f():\n    async def g() -> B: ...\n", ["B, line 5"]),
        (f"{GUARDED}class C:\n    b: B | None = None\n", ["B, line 5"]),
        ("class C:\n    def same(self) -> C: ...\n", ["C, line 2"]),
        ("def f(d: D) -> None: ...\ntype D = int\n", ["D, line 1"]),
        (f"{GUARDED}def f(b: 'B') -> None:\n    c: B = b\n", []),
        (f"{GUARDED}type L = list[B]\n", []),
        (f"from __future__ import annotations\n{GUARDED}def f(b: B) -> None: ...\n", []),
        ("type D = int\ndef f(d: D) -> None:\n    def g(e: E) -> D: ...\nclass E: ...\n", []),
    ],
)
def test_what_is_not_there_is_found(source: str, found: list[str]) -> None:
    assert too_early(source) == found


@pytest.mark.slow
def test_no_annotation_names_what_is_not_there_yet() -> None:
    found = {str(path.relative_to(ROOT)): too_early(path.read_text()) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}
