"""The random runs: counted truth against swept truth, and physical invariants of random jobs."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from synth import simulate
from synth.model import COMM
from synth.strategies import count_windows, loose_runs, small_jobs
from synth.truth import CATEGORIES, stretches_of, windows_of

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(loose_runs())
def test_counting_nanoseconds_agrees_with_sweeping_them(run):
    swept = {(w.step, w.rank): w for w in windows_of(run)}
    counted = count_windows(run)
    assert len(counted) == len(run.ranks) * (run.job.steps - 1)
    for window in counted:
        other = swept[window.step, window.rank]
        assert (window.start, window.end) == (other.start, other.end)
        assert window.categories == {name: getattr(other, name) for name in CATEGORIES}
        spans = run.ranks[window.rank].spans
        assert window.stretches == stretches_of(spans, window.start, window.end)


@quick
@given(loose_runs())
def test_no_two_spans_of_a_stream_overlap_and_every_launch_is_in_its_step(run):
    for trace in run.ranks.values():
        ends: dict[int, int] = {}
        for span in sorted(trace.spans, key=lambda s: (s.start, s.end)):
            assert span.start >= ends.get(span.stream, 0)
            ends[span.stream] = span.end
            mark = trace.steps[span.step]
            assert mark.start <= span.launch.start < span.launch.end < mark.end
            assert span.launch.end + 5_000 <= span.start


@settings(quick, max_examples=30)
@given(small_jobs())
def test_random_jobs_keep_the_invariants(job):
    run = simulate(job)
    truth = run.truth
    for window in truth.windows:
        assert sum(getattr(window, name) for name in CATEGORIES) == window.length
        rows = [r.ns for r in truth.exposed if (r.step, r.rank) == (window.step, window.rank)]
        assert sum(rows) == window.exposed
    for call in truth.calls:
        assert min(call.peer_wait, call.transport, call.queue, call.exposed, call.hidden) >= 0
        assert call.exposed + call.hidden <= call.end - call.start
    for path in truth.paths.values():
        assert sum(path.ranks.values()) == path.length
    for one in run.instances:
        assert all(s.kind == COMM and s.end >= 0 for s in one.members.values())
