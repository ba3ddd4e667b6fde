"""Ids of an event's names, with what each name says, found out once a name rather than once an event."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from abstep.trace import kinds
from abstep.trace.columns import NONE, Ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_STEP = re.compile(r"ProfilerStep#(\d{1,9})$")
#: Host ranges inside which communication is launched, or that show its progress (SEMANTICS 2).
COMM_RANGE = re.compile(
    r"record_param_comms|nccl:|gloo:|c10d::|_?c10d_functional::|symm_mem::|rccl:|xccl:|hccl:|mpi:|ucc:"
)
_EVALUATE = re.compile(r"autograd::engine::evaluate_function")
_HOST_CALLS = {
    "sync": re.compile(r"(cuda|hip)(Device|Stream|Event)Synchronize|cu(Ctx|Stream|Event)Synchronize"),
    "copy": re.compile(r"(cuda|hip)Memcpy(?!.*Async)|cuMemcpy(?!.*Async)"),
    "alloc": re.compile(
        r"(cuda|hip)(Free|Malloc|HostAlloc|HostMalloc|MallocHost|FreeHost|HostFree)(?!.*Async)"
    ),
    "graph": re.compile(r"(cuda|hip|cu)GraphLaunch"),
}
HOST_CALL_KINDS = tuple(_HOST_CALLS)


def step_number(name: str) -> int:
    """Return N of ProfilerStep#N; NONE for any other name."""
    found = _STEP.match(name)
    return int(found.group(1)) if found else NONE


def host_call(name: str) -> int:
    """Return the index in HOST_CALL_KINDS of a runtime call that can hold its thread up; -1 for others."""
    return next((index for index, kind in enumerate(_HOST_CALLS) if _HOST_CALLS[kind].match(name)), -1)


_FLAGS: dict[str, tuple[Callable[[str], Any], Any]] = {
    "comm": (lambda name: COMM_RANGE.match(name) is not None, bool),
    "step": (step_number, np.int64),
    "backward": (lambda name: _EVALUATE.match(name) is not None, bool),
    "progress": (lambda name: kinds.load().kernels.search(name) is not None, bool),
    "host_call": (host_call, np.int8),
    "graph": (lambda name: "GraphLaunch" in name, bool),
    "params": (lambda name: name.startswith("record_param_comms"), bool),
    "annotation": (lambda name: re.match(r"[a-z]?ccl:|nccl:|rccl:|xccl:|hccl:", name) is not None, bool),
    "launch": (lambda name: re.match(r"c10d::|symm_mem::", name) is not None, bool),
}


class NameTable:
    """Names in order of their ids.

    Attributes:
        ids: name -> id.

    """

    def __init__(self) -> None:
        self.ids = Ids()
        self._texts: list[str] = []
        self._flags: dict[str, NDArray[Any]] = {
            flag: np.empty(0, dtype) for flag, (_, dtype) in _FLAGS.items()
        }

    @property
    def texts(self) -> list[str]:
        """Id -> name."""
        if len(self._texts) < len(self.ids):
            self._texts = list(self.ids)
        return self._texts

    def flag(self, flag: str) -> NDArray[Any]:
        """Return what is known of each name, by id.

        Args:
            flag: 'comm' (communication range), 'step' (N, NONE), 'backward' (runs an autograd node),
                'progress' (communication by its own name), 'host_call' (index of its kind, -1), 'graph' (a
                graph launch), 'params', 'annotation' and 'launch' (the three ranges around a collective's
                launch).

        """
        known = self._flags[flag]
        if len(known) < len(self.ids):
            find, dtype = _FLAGS[flag]
            fresh = np.array([find(text) for text in self.texts[len(known) :]], dtype)
            known = self._flags[flag] = np.concatenate((known, fresh))
        return known
