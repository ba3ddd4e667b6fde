"""nccl-tests output stands beside concurrent durations, never in their place (SEMANTICS 6)."""

from __future__ import annotations

import numpy as np
import pytest
from synth import scenario, write_pair

from abstep.compare.build import CompareOptions
from abstep.compare.isolated import read_isolated
from abstep.errors import AbstepError
from abstep.pipeline import Reading, compare_traces

OUTPUT = """\
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    20.00   52.43   78.64      0    19.80   52.96   79.44      0
     4194304       1048576     float     sum      -1    60.00   69.91  104.86      0    59.00   71.09  106.63      0
   134217728      33554432     float     sum      -1  1900.00   70.64  105.96      0  1890.0   71.02  106.52      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 96.5
"""


def written(folder, text=OUTPUT, name="all_reduce_perf.txt"):
    place = folder / name
    place.write_text(text)
    return place


def test_sizes_and_out_of_place_times_are_read(tmp_path):
    found = read_isolated(written(tmp_path))
    assert found.collective == "all_reduce"
    assert found.sizes.tolist() == [1048576, 4194304, 134217728]
    assert found.times.tolist() == [20_000.0, 60_000.0, 1_900_000.0]


def test_between_sizes_it_is_straight_in_log_log_and_outside_unknown(tmp_path):
    found = read_isolated(written(tmp_path))
    middle = found.at(found.sizes[:1] * 2)[0]
    assert middle == pytest.approx((20_000 * 60_000) ** 0.5, rel=1e-9)
    outside = found.at(found.sizes[:1] / 2)[0]
    assert np.isnan(outside), "smaller than anything measured"


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("hello\n", "all_reduce_perf.txt", "no row of nccl-tests output"),
        (OUTPUT, "measured.txt", "does not say which collective"),
    ],
)
def test_what_is_no_output_is_one_line(tmp_path, text, name, says):
    with pytest.raises(AbstepError, match=says) as caught:
        read_isolated(written(tmp_path, text, name))
    assert caught.value.exit_code == 2
    assert name in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(AbstepError, match="cannot be read"):
        read_isolated(tmp_path / "none.txt")


def test_it_stands_beside_and_says_the_most_it_could_gain(tmp_path):
    places = write_pair(tmp_path, *scenario("buckets"))
    isolated = read_isolated(written(tmp_path))
    reading = Reading(store=tmp_path / "store.duckdb")
    plain = compare_traces(*places, CompareOptions(warmup=0), reading)
    found = compare_traces(*places, CompareOptions(warmup=0, isolated=isolated), reading)
    for ours, theirs in zip(plain.collectives, found.collectives, strict=True):
        assert theirs.duration == ours.duration
        assert theirs.transport == ours.transport
        assert ours.isolated is None
        each = theirs.bytes / theirs.count
        expected = theirs.count * isolated.at(isolated.sizes[:1] * 0 + each)[0]
        assert theirs.isolated == pytest.approx(expected, rel=1e-6)
    said = " ".join(found.explanation.sentences)
    slot = next(row for row in found.intervals if row.kind == "blocking")
    path = next(row for row in found.path if row.side == "variant")
    assert "gains the step at most" in said
    assert min(slot.variant_transport, path.transport) > 0
