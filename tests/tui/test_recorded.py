"""What was recorded beside contention, on the screens: a pair's rows, and the threads and cores of CPU runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from abstep.compare.comparison import Cores, PairEvidence

from .desk import ASCII, Desk
from .pair import comparison


def on_cpu(**said):
    """The pair as if its traces were of host ranges alone: nothing of kernels, threads of every rank."""
    plain = comparison()
    nothing = PairEvidence()
    return replace(
        plain,
        base=replace(plain.base, host_only=True, cores=Cores(**said)),
        variant=replace(plain.variant, host_only=True, cores=Cores(**said)),
        ranks=tuple(replace(row, compute_threads=1, collective_threads=2) for row in plain.ranks),
        contention=tuple(
            replace(row, base_evidence=nothing, variant_evidence=nothing) for row in plain.contention
        ),
    )


@pytest.mark.parametrize("place", ["contention", "contention/1"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_cpu_runs_say_threads_and_cores(place, width):
    shown = " ".join(Desk(place, shown=on_cpu(cores=2)).screen(width, 24).split())
    assert "In both runs, 1 compute thread and 2 collective threads ran on each of ranks 0 to 3;" in shown
    assert "run.json records 2 cores." in shown
    assert "registers" not in shown


def test_without_cores_it_says_so():
    assert "cores not recorded." in " ".join(Desk("contention/1", shown=on_cpu()).screen(120, 24).split())


def test_a_range_too_wide_for_its_column_stands_beside():
    lines = Desk("contention/1", look=ASCII).lines(80, 24)
    (said,) = [line for line in lines if "shared memory a block" in line]
    assert said.endswith("  8.45 kB to 41.0 kB")
    (said,) = [line for line in lines if "collective's blocks" in line]
    assert said.split()[-4:] == ["24", "8", "to", "32"]


def test_device_runs_without_records_show_no_row_of_them():
    plain = comparison()
    bare = replace(plain, contention=tuple(
        replace(row, base_evidence=PairEvidence(), variant_evidence=PairEvidence()) for row in plain.contention
    ))  # fmt: skip
    shown = Desk("contention/1", shown=bare).screen(80, 24)
    assert not [word for word in ("registers", "occupancy", "copies", "recorded", "thread") if word in shown]
