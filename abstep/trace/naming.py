"""Which range of a launch's path names it (SEMANTICS 4, consumer and phase in words)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from abstep.trace.gather import COMM_RANGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_OPTIMIZER = re.compile(r"Optimizer\.step#")
_EVALUATE = re.compile(r"autograd::engine::evaluate_function")
_AUTOGRAD = re.compile(
    r"autograd::|torch::autograd::|torch::dynamo::autograd|(?:\w+::)*\w*Backward\d*\b|CompiledFunctionBackward"
)
#: Says nothing about where in the model a launch is: skipped by itself.
_EMPTY = re.compile(
    r"ProfilerStep|#+\s.*\s?#+$|(?:\w+\.)*DistributedDataParallel\.forward$"
    r"|(?:\w+\.)*Fully?ShardedDataParallel\.forward$|(?:\w+\.)*FSDPModule\.forward$"
)
#: Moves data for others: skipped with everything inside it.
_PACKING = re.compile(
    r"aten::(?:to|_to_copy|copy_|_foreach_copy_)$|.*copy_bucket_to_grad|(?i:fsdp)::.*copy|.*chunk_cat|.*split_with_sizes_copy"
)
#: Ranks of a range as a name, best first; NOTHING names nothing.
OPTIMIZER, MODULE, AUTOGRAD, OPERATOR, COMMUNICATION, NOTHING = range(6)


def rank_of(name: str, *, is_range: bool) -> int:
    """Return how good a name the range is."""
    if _EMPTY.match(name) or _PACKING.match(name):
        return NOTHING
    if _OPTIMIZER.match(name):
        return OPTIMIZER
    if COMM_RANGE.match(name):
        return COMMUNICATION
    if _AUTOGRAD.match(name):
        return AUTOGRAD
    if is_range or "::" not in name:
        return MODULE
    return OPERATOR


def outerness(name: str, *, is_range: bool) -> int:
    """Return which of two ranges with the same start and end is the outer one: the smaller."""
    if COMM_RANGE.match(name):
        return {"c10d": 6, "symm": 6, "reco": 7}.get(name[:4], 8)
    if _EVALUATE.match(name):
        return 2
    if _AUTOGRAD.match(name):
        return 3
    if is_range:
        return 0 if name.startswith("ProfilerStep") else 1
    return 5 if name.startswith("aten::") else 4


def is_backward(name: str) -> bool:
    """Return whether a range of that name shows that its thread runs autograd nodes."""
    return _EVALUATE.match(name) is not None


def naming_paths(
    parent: NDArray[np.int32], name: NDArray[np.int32], is_range: NDArray[np.bool_], names: Sequence[str]
) -> NDArray[np.int32]:
    """Return, for each path, the path of the range that names it; -1 where none does.

    Args:
        parent: path of the enclosing range; parents come before their children; -1 at the root.
        name: name id of each path's innermost range.
        is_range: whether that range is an annotation rather than an operator.
        names: name id -> text.

    """
    best = np.full(len(parent), -1, np.int32)
    rank = np.full(len(parent), NOTHING, np.int8)
    packing = np.zeros(len(parent), bool)
    for path, (outer, name_id, annotated) in enumerate(
        zip(parent.tolist(), name.tolist(), is_range.tolist(), strict=True)
    ):
        own = rank_of(names[name_id], is_range=annotated)
        if outer >= 0:
            best[path], rank[path], packing[path] = best[outer], rank[outer], packing[outer]
        if packing[path]:
            continue
        packing[path] = _PACKING.match(names[name_id]) is not None
        if own < rank[path]:
            best[path], rank[path] = path, own
    return best
