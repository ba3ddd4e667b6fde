"""Host-only runs: recorded layout, categories that tile, and the planted difference."""

from __future__ import annotations

import gzip
import json

import pytest
from synth.gloo import gloo_pair, simulate_gloo
from synth.gloo_write import write_gloo


def mean(run, name):
    return sum(w.categories[name] for w in run.windows) / len(run.windows)


@pytest.mark.parametrize("name", ["same", "buckets", "straggler", "slow_link", "accumulation"])
def test_categories_tile_and_stretches_add_up(name):
    for run in gloo_pair(name, steps=3):
        assert len(run.windows) == 6
        for window in run.windows:
            assert sum(window.categories.values()) == window.end - window.start
            assert sum(b - a for a, b in window.stretches) == window.categories["exposed"]


def test_collectives_wait_for_the_last_rank_and_move_after_it():
    base, variant = gloo_pair("straggler", steps=3)
    for run in (base, variant):
        for calls in zip(*(r.calls for r in run.ranks), strict=True):
            arrived = max(c.start for c in calls)
            assert {c.last_arrival for c in calls} == {arrived}
            ends = [c.end for c in calls]
            assert max(ends) - min(ends) <= run.job.skew_ns
            assert all(c.start >= c.launch.start for c in calls)
    waited = [c.last_arrival - c.start for c in variant.ranks[0].calls]
    assert min(waited) > 50_000_000


def test_more_buckets_hide_more():
    base, variant = gloo_pair("buckets")
    assert mean(variant, "exposed") < mean(base, "exposed") / 2
    assert mean(variant, "overlapped") > mean(base, "overlapped") + 10_000_000


def test_the_hole_ends_just_after_the_collective():
    base, _ = gloo_pair("same", steps=3)
    for rank in base.ranks:
        for call in rank.calls:
            assert call.hole is not None
            assert call.hole[1] - call.end == 60_000


def test_same_kinds_of_event_as_recorded(shared, tmp_path):
    base, _ = gloo_pair("buckets", steps=3)
    write_gloo(base, tmp_path)
    place = shared / "recorded" / "bucket_100_to_4" / "base" / "repeat1"
    mine, theirs = (
        json.loads(gzip.decompress((folder / "rank1.pt.trace.json.gz").read_bytes()))
        for folder in (tmp_path, place)
    )
    assert set(mine) <= set(theirs)
    assert set(mine["distributedInfo"]) == set(theirs["distributedInfo"])
    for key in ("cpu_op", "user_annotation"):
        kinds = []
        for document in (mine, theirs):
            rows = [e for e in document["traceEvents"] if e.get("cat") == key]
            kinds.append({(e["ph"], *e) for e in rows})
        assert kinds[0] <= kinds[1]
    names = {e["name"].partition("#")[0] for e in mine["traceEvents"] if e.get("cat") == "user_annotation"}
    assert names <= {e["name"].partition("#")[0] for e in theirs["traceEvents"]}


def test_same_seed_same_run():
    job = gloo_pair("same", steps=2)[0].job
    assert simulate_gloo(job).windows == simulate_gloo(job).windows
