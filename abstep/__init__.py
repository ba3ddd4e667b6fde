"""abstep compares the training steps of a baseline and a variant."""

from __future__ import annotations

__version__ = "0.1.0"
