"""What importing and using the package loads."""

import subprocess
import sys

PROGRAM = """
import sys
import {module}
print(sorted(m for m in sys.modules if m.split(".")[0] in ("scipy", "polars", "duckdb", "textual", "pyarrow")))
import numpy as np
from abstep.compare.statistics import RunMetrics, compare_runs
step = np.arange(20, dtype=np.int64) * 1000 + 10**8
run = RunMetrics(np.arange(20), 1, step, {{"a": step}}, {{}}, {{}})
compare_runs([run], [run])
print("scipy.special" in sys.modules, "scipy.stats" in sys.modules)
"""


def test_scipy_waits_until_it_is_needed():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module="abstep.compare.statistics")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == ["[]", "True False"]
