# SPDX-License-Identifier: Apache-2.0
"""Formulas of a campaign over its metrics: numbers, names, + - * / ** and sqrt, nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

_LONGEST = 300
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_ALLOWED = "allowed are numbers, names of metrics, + - * / **, parentheses and sqrt(…)"


def value_of_formula(text: str, values: Mapping[str, float]) -> float:
    """The value of a formula over named values. Raises ValueError for another text, another name,
    and where it has no value."""
    if len(text) > _LONGEST:
        raise ValueError(f"has {len(text)} characters; allowed are {_LONGEST}")

    def of(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _BINARY[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -of(node.operand)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sqrt" and not node.keywords:
            return math.sqrt(*map(of, node.args))
        if isinstance(node, ast.Name):
            raise ValueError(f"has no metric {node.id}; there are {', '.join(values) or 'none'}")
        raise ValueError(f"holds {ast.unparse(node)!r:.60}; {_ALLOWED}")

    try:
        return of(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, RecursionError, MemoryError):
        raise ValueError(f"cannot be read; {_ALLOWED}") from None
    except ArithmeticError as error:
        raise ValueError(f"has no value ({error})") from None
