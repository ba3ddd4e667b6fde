"""Which range of a launch's path names it (SEMANTICS 4, consumer and phase in words)."""

from __future__ import annotations

import re

from abstep.trace.nametable import COMM_RANGE

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


def is_packing(name: str) -> bool:
    """Return whether everything inside a range of that name only moves data for others."""
    return _PACKING.match(name) is not None
