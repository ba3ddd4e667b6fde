"""Cut a run's traces into step windows (SEMANTICS 1)."""

from abstep.windows.steps import CutRun, cut

__all__ = ["CutRun", "cut"]
