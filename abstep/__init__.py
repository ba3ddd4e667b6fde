"""abstep compares the training steps of a baseline and a variant.

The Python API, loaded when used: `read_run`, `compare_traces`, `Comparison`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abstep.compare.comparison import Comparison
    from abstep.pipeline import compare_traces, read_run

__version__ = "0.1.0"
__all__ = ["Comparison", "__version__", "compare_traces", "read_run"]

_PLACES = {
    "Comparison": "abstep.compare.comparison",
    "compare_traces": "abstep.pipeline",
    "read_run": "abstep.pipeline",
}


def __getattr__(name: str) -> Any:
    """Load a name of the API when it is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'abstep' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    """Name the API without loading it."""
    return sorted({*globals(), *_PLACES})
