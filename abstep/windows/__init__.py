"""Cut a run's traces into step windows (SEMANTICS 1)."""

from abstep.windows.steps import CutRun, Numbering, complete, cut, cut_alone, joined

__all__ = ["CutRun", "Numbering", "complete", "cut", "cut_alone", "joined"]
