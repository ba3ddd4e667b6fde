"""CPU time and peak memory of HolisticTraceAnalysis on the same trace: load, and its communication overlap.

    PYTHON_WITH_HTA tests/bench/ingest/peer_hta.py TRACE

Runs in an environment of its own (pip install HolisticTraceAnalysis), so it imports nothing of this project.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import time

from hta.trace_analysis import TraceAnalysis


def main() -> None:
    logging.disable(logging.CRITICAL)
    before, start = time.process_time(), time.perf_counter()
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
    loaded = time.process_time() - before
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    print(
        json.dumps(
            {
                "load_cpu": loaded,
                "cpu": time.process_time() - before,
                "wall": time.perf_counter() - start,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "overlap": overlap.to_dict("records"),
            }
        )
    )


if __name__ == "__main__":
    main()
