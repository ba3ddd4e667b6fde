"""Settings of this folder."""

from __future__ import annotations

from hypothesis import settings

# a test's time depends on the machine's load, not on the example
settings.register_profile("abstep", deadline=None)
settings.load_profile("abstep")
