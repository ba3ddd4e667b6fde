"""Generated traces with exactly known truth.

    base, variant = scenario("buckets", world=2, steps=6, variant_buckets=8)
    base_dir, variant_dir = write_pair(tmp_path, base, variant, names="old", seq="absent")
    variant.truth.mean("exposed")                  # ns a window, mean over completed windows
    variant.truth.slots(), .calls, .paths, .windows, .contention(), .clock_offset(1)

scenarios.py lists the ready-made pairs, model.Job every setting of a run, kineto.Layout every way to write it,
faults.py what goes wrong with recordings, strategies.py random runs, broken.py hostile files, gloo.py runs
without a device.
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
