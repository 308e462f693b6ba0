# SPDX-License-Identifier: Apache-2.0
"""Equality of results as ARCHITECTURE.md defines it for comparisons with PostgreSQL.

Floats may differ by 1e-9 relative, numerics are equal by value (groups may mix scales), and rows come in
any order unless the query has an ORDER BY.
"""
import decimal
import math

FLOAT_TOLERANCE = 1e-9


def values_equal(left, right):
    if left is None or right is None:
        return left is None and right is None
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(values_equal, left, right))
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right or abs(left - right) <= FLOAT_TOLERANCE * max(abs(left), abs(right))
    return left == right


def rows_equal(left, right):
    return len(left) == len(right) and all(map(values_equal, left, right))


def sort_key(row):
    """An order in which rows that are equal, but for the last digits of floats, usually meet."""
    key = []
    for value in row:
        if value is None:
            key.append((2, ""))
        elif isinstance(value, bool):
            key.append((0, int(value)))
        elif isinstance(value, (int, decimal.Decimal)):
            value = decimal.Decimal(value)
            key.append((1, "nan") if value.is_nan() else (0, value))
        elif isinstance(value, float):
            key.append((1, "nan") if math.isnan(value) else (0, float(f"{value:.6g}")))
        else:
            key.append((1, str(value)))
    return key


def same(expected, actual, ordered=False):
    """None when the results are equal, else a short description of the first differences."""
    if not ordered:
        expected, actual = sorted(expected, key=sort_key), sorted(actual, key=sort_key)
    if len(expected) == len(actual) and all(map(rows_equal, expected, actual)):
        return None
    if ordered:
        missing = [e for e, a in zip(expected, actual) if not rows_equal(e, a)]
        extra = [a for e, a in zip(expected, actual) if not rows_equal(e, a)]
    else:
        missing, extra = difference(expected, actual)
        if not missing and not extra:
            return None
    return (f"{len(expected)} rows expected, {len(actual)} came; "
            f"missing {shorten(missing)}; unexpected {shorten(extra)}")


def difference(expected, actual):
    """What is only in one of two sorted lists, matched greedily within the tolerance."""
    rest = list(actual)
    missing = []
    exact = {}
    for row in rest:
        exact.setdefault(repr_exact(row), []).append(row)
    unmatched = []
    for row in expected:
        found = exact.get(repr_exact(row))
        if found:
            found.pop()
        else:
            unmatched.append(row)
    rest = [row for rows in exact.values() for row in rows]
    for row in unmatched:
        for i, candidate in enumerate(rest):
            if rows_equal(row, candidate):
                rest.pop(i)
                break
        else:
            missing.append(row)
    return missing, rest


def repr_exact(row):
    return repr([decimal.Decimal(v).normalize() if isinstance(v, (int, decimal.Decimal)) and not isinstance(v, bool)
                 else v for v in row])


def shorten(rows, most=3):
    shown = ", ".join(str(tuple(map(str, row))) for row in rows[:most])
    return f"{len(rows)}" + (f" [{shown}{', …' if len(rows) > most else ''}]" if rows else "")
