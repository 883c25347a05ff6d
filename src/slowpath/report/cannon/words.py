# SPDX-License-Identifier: Apache-2.0
"""Names in the report of Cannon's algorithm: families of variants, and the parts of a multiplication."""

from __future__ import annotations

from slowpath.core.cannon_results import CannonGrid, CannonGroup, CannonPoint

# Panels of curves: variants that communicate alike.
FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("two-sided", ("sendrecv", "isend_wait", "isend_test", "isend_test_apart")),
    ("one-sided", ("put_fence", "put_fence_two_windows", "pscw", "put_flag", "get_from_home")),
    ("shared memory", ("shared_copy", "shared_direct")),
    ("yardsticks", ("dgemm_alone",)),
)

# In the order in which a bar stacks them. Words: what a rank does meanwhile.
PARTS: dict[str, str] = {
    "dgemm": "multiplies",
    "issue": "starts communication",
    "test": "asks whether it is over",
    "wait": "waits for communication",
    "copy": "copies",
    "synchronise": "synchronises",
    "skew": "moves the initial alignment",
    "distribute": "inputs out of rank 0 or a file",
    "gather": "product to rank 0 or into a file",
    "generate": "makes its inputs",
}
INSIDE = tuple(part for part in PARTS if part != "generate")  # `generate` lies before the multiplication


def variant_name(variant: str) -> str:
    """Return the name of a variant, such as `put fence two windows`."""
    return variant.replace("_", " ")


def moving_words(grid: CannonGrid) -> str | None:
    """Return that a grid of one row or one column moves one matrix alone, or None if both or neither move."""
    if (grid.rows > 1) == (grid.columns > 1):
        return None
    moves, stays = ("A", "B") if grid.columns > 1 else ("B", "A")
    words = f"On a grid of {grid.rows} x {grid.columns} only {moves} moves and {stays} stays"
    return f"{words}; from 2 x 2 ranks on both move"


def families(variants: list[str], most: int) -> list[tuple[str, list[str]]]:
    """Return the variants by family, in panels of at most `most`, those without a family last."""
    known = {name for _, names in FAMILIES for name in names}
    groups = [(title, [name for name in names if name in variants]) for title, names in FAMILIES]
    groups.append(("others", [name for name in variants if name not in known]))
    return [(title, names[start : start + most]) for title, names in groups for start in range(0, len(names), most)]


def points(group: CannonGroup, variant: str) -> list[CannonPoint]:
    """Return the measured points of a variant by n."""
    found = next((candidate.points for candidate in group.variants if candidate.variant == variant), [])
    return sorted(found, key=lambda point: point.n)
