"""Generated traces with exactly known truth.

base, variant = scenario("buckets", world=2, steps=6)
base_dir, variant_dir = write_pair(tmp_path, base, variant, names="old")
variant.truth.mean("exposed")
"""

from synth.kineto import Layout
from synth.model import Clock, Job, SimRun
from synth.scenarios import PAIRS, scenario
from synth.simulate import simulate
from synth.write import write_pair, write_repeats, write_run

__all__ = [
    "PAIRS",
    "Clock",
    "Job",
    "Layout",
    "SimRun",
    "scenario",
    "simulate",
    "write_pair",
    "write_repeats",
    "write_run",
]
