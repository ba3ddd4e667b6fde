"""What was recorded beside contention, as it is told: ranges, copies a window, threads and cores (SEMANTICS 6)."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from handmade import collective, copy, joined, kernel, tables
from synth import scenario, write_run

from abstep.compare.build import CompareOptions, compare
from abstep.compare.evidence import cores
from abstep.compare.recorded import (
    GREW,
    copy_facts,
    evidence_sentences,
    host_sentences,
    launch_facts,
    occupancy_text,
)
from abstep.compare.rows import PairEvidence
from abstep.measure.run import measure
from abstep.pipeline import Reading, compare_traces
from abstep.report.result import result
from abstep.windows import cut


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A pair whose compute is slowed beside collectives, recorded with other registers and occupancy."""
    folder = tmp_path_factory.mktemp("grown")
    base, variant = scenario("growth", seed=3, variant_compute_stretch=1.9)
    places = (
        write_run(base, folder / "base"),
        write_run(variant, folder / "variant", registers=128, occupancy=12),
    )
    return compare_traces(*places, CompareOptions(warmup=0), Reading(store=folder / "store.duckdb"))


def test_a_pair_has_what_its_kernels_and_its_collectives_kernels_took(grown):
    row = next(row for row in grown.contention if row.delta.verdict in GREW)
    base, variant = row.base_evidence, row.variant_evidence
    assert (base.registers, base.shared_bytes, base.occupancy_pct) == ((96, 96), (12_544, 12_544), (25, 25))
    assert (variant.registers, variant.occupancy_pct) == ((128, 128), (12, 12))
    assert (base.blocks, base.threads, base.channels) == ((8, 8), (256, 256), (8, 8))
    assert {fact.label: fact.both for fact in launch_facts(row)} == {
        "registers a thread": "96 → 128",
        "shared memory a block": "12.5 kB",
        "estimated occupancy": "25 % → 12 %",
        "collective's blocks": "8",
        "threads of such a block": "256",
        "collective's channels": "8",
    }


def test_the_result_file_has_it_as_ranges(grown):
    number = next(n for n, row in enumerate(grown.contention) if row.delta.verdict in GREW)
    row = result(grown)["contention"][number]
    assert (row["base_registers"], row["variant_registers"]) == ([96, 96], [128, 128])
    assert (row["base_occupancy_pct"], row["variant_collective_channels"]) == ([25, 25], [8, 8])
    assert row["base_copies"] == {}, "the traces hold copies, none beside both"
    assert {tuple(row["blocks"]) for row in result(grown)["collectives"]} == {(8, 8)}


def test_what_changed_is_told_as_evidence_and_not_as_the_cause(grown):
    (said,) = [text for text in grown.explanation.sentences if "Recorded beside" in text]
    assert said.startswith("Recorded beside it, as evidence and not as the cause: ")
    assert (
        "aten::mm had an estimated occupancy of 25 % in the base and 12 % in the variant and "
        "96 registers a thread in the base and 128 in the variant"
    ) in said
    assert "thread blocks" not in said, "those did not change"


def test_nothing_is_told_of_what_did_not_change_or_is_known_of_one_side(grown):
    rows = [replace(row, variant_evidence=row.base_evidence) for row in grown.contention]
    assert not list(evidence_sentences(replace(grown, contention=tuple(rows))))
    rows = [
        replace(row, base_evidence=replace(row.base_evidence, registers=None, occupancy_pct=None))
        for row in grown.contention
    ]
    assert not list(evidence_sentences(replace(grown, contention=tuple(rows))))


def test_thread_blocks_are_compared_within_the_slots_collectives_only(grown):
    """A group or phase that is no pair's, or that one side alone has, says nothing of the pair."""
    grew = next(row for row in grown.contention if row.delta.verdict in GREW)
    base, variant = (
        next(
            row
            for row in grown.collectives
            if row.side == side and grew.slot.startswith(f"{row.phase}/{row.group}/{row.collective}/")
        )
        for side in ("base", "variant")
    )

    def told(*rows):
        return " ".join(evidence_sentences(replace(grown, collectives=rows)))

    more = replace(variant, blocks=(16, 16))
    assert f"{base.collective} of the {base.phase} took 8 thread blocks in the base and 16" in told(
        base, more
    )
    assert "thread blocks" not in told(base, variant, replace(more, group="another"))
    assert "thread blocks" not in told(base, replace(more, group="another"))
    elsewhere = [replace(row, phase="other") for row in (base, more)]
    assert "thread blocks" not in told(base, variant, *elsewhere)


@pytest.mark.parametrize("verdict", ["shrank", "unchanged", "inconclusive", None])
def test_nothing_is_told_of_pairs_that_did_not_grow(grown, verdict):
    rows = [replace(row, delta=replace(row.delta, verdict=verdict)) for row in grown.contention]
    assert not list(evidence_sentences(replace(grown, contention=tuple(rows))))


@pytest.mark.parametrize(
    ("ends", "mean", "said"),
    [((25.0, 25.0), 25.0, "25 %"), ((12.0, 75.0), 41.3, "41 % (12 to 75)"), (None, None, "-")],
)
def test_an_occupancy_that_varies_is_a_mean_and_a_range(ends, mean, said):
    assert occupancy_text(PairEvidence(occupancy_pct=ends, occupancy_mean_pct=mean)) == said


STEPS = [(1_000 * n, 1_000 * n + 900) for n in range(9)]


def run(*ranks, shape=None, second=50.0, **facts):
    """Ranks whose gemm runs alone and, 100 us long, beside an all_reduce; each rank's own copies beside."""
    traces = []
    gemm = {"shape": shape, "resource": {"registers": 40, "occupancy_pct": 50.0}}
    longer = gemm | {"resource": {"registers": 40, "occupancy_pct": second}}
    for rank, copies in enumerate(ranks):
        spans = []
        for start, _ in STEPS:
            spans += [
                kernel(start + 20, start + 90, launch=start + 5, **gemm),
                kernel(start + 100, start + 200, launch=start + 10, **longer),
                collective(start + 90, start + 210, launch=start + 12, group_ranks="0,1", group_size=2),
                kernel(start + 300, start + 400, launch=start + 13, name="update"),
            ]
            spans += [
                copy(start + one, start + one + long, launch=start + 6, stream=9 + n, name=name)
                for n, (one, long, name) in enumerate(copies)
            ]
        traces.append(tables(*spans, steps=STEPS, rank=rank, world_size=len(ranks), **facts))
    return measure(cut(joined(*traces)))


def test_copies_are_a_mean_a_window_and_rank_by_direction():
    away = (500, 10, "Memcpy DtoD (Device -> Device)")
    one = (180, 60, "Memcpy HtoD (Pinned -> Device)")  # 20 us of it beside both
    found = compare(run([away], [away]), run([away, one], [away]), CompareOptions(warmup=0))
    (row,) = found.contention
    assert row.base_evidence.copies == {}
    assert row.variant_evidence.copies == {"HtoD": pytest.approx(10e3)}, "of two ranks one has it"
    assert [(fact.label, fact.base, fact.variant) for fact in copy_facts(row)] == [
        ("copies host to device", "none", "10.0 us")
    ]
    assert result(found)["contention"][0]["variant_copies"] == {"HtoD_us": pytest.approx(10)}


def test_copies_that_changed_beside_a_pair_that_grew_are_told():
    away = (500, 10, "Memcpy DtoD (Device -> Device)")
    one = (100, 80, "Memcpy DtoH (Device -> Pinned)")
    found = compare(run([away], [away]), run([away, one], [away, one]), CompareOptions(warmup=0))
    (row,) = found.contention
    grew = replace(found, contention=(replace(row, delta=replace(row.delta, verdict="grew")),))
    (said,) = evidence_sentences(grew)
    assert (
        "copies device to host ran beside gemm and all_reduce of other, nothing waiting (incidental) "
        "for 0 us a step in the base and 80.0 us" in said
    )


def test_shapes_that_one_side_recorded_part_no_pair_from_its_evidence():
    one = (100, 80, "Memcpy DtoH (Device -> Pinned)")
    sides = [run([one], [one], shape=shape) for shape in ("[[4, 4]]", "grid [8, 1, 1] block [128, 1, 1]")]
    (row,) = compare(*sides, CompareOptions(warmup=0)).contention
    for own in (row.base_evidence, row.variant_evidence):
        assert (own.registers, own.copies) == ((40, 40), {"DtoH": pytest.approx(80e3)})


def test_occupancy_is_a_mean_by_time_over_ranks_and_windows():
    found = compare(run([], [], second=16.0), run([], [], second=None), CompareOptions(warmup=0))
    (row,) = found.contention
    assert row.base_evidence.occupancy_mean_pct == pytest.approx((70 * 50 + 100 * 16) / 170)
    assert row.base_evidence.occupancy_pct == (16, 50)
    assert (row.variant_evidence.occupancy_mean_pct, row.variant_evidence.occupancy_pct) == (None, None)
    assert row.variant_evidence.registers == (40, 40)


def test_traces_without_any_copy_say_nothing_of_copies():
    found = compare(run([], []), run([], []), CompareOptions(warmup=0))
    (row,) = found.contention
    assert row.base_evidence.copies is None
    assert copy_facts(row) == []
    assert result(found)["contention"][0]["base_copies"] is None, "unknown, not 0"


@pytest.fixture(scope="module")
def on_cpu(samples, compared):
    place = samples / "same_settings"
    return compared(place / "base", place / "variant")


def test_threads_and_cores_of_a_cpu_run_are_told_as_recorded(on_cpu):
    (said,) = host_sentences(on_cpu)
    assert said == (
        "In both runs, 1 compute thread and 2 collective threads ran on each of ranks 0 and 1; "
        "run.json records 2 cores, 1 thread a rank, rank r on core r."
    )
    told = result(on_cpu)
    assert (told["base"]["cores"], told["base"]["threads_per_rank"]) == (2, 1)
    assert {(row["compute_threads"], row["collective_threads"]) for row in told["ranks"]} == {(1, 2)}
    assert {row["base_registers"] for row in map(dict, told["contention"])} <= {None}


def test_where_cores_are_not_recorded_it_says_so(samples, tmp_path):
    place = tmp_path / "run"
    shutil.copytree(samples / "same_settings" / "base", place)
    for note in place.rglob("run.json"):
        said = json.loads(note.read_text())
        del said["environment"]
        note.write_text(json.dumps(said))
    found = compare_traces(
        samples / "same_settings" / "base",
        place,
        CompareOptions(warmup=0),
        Reading(store=tmp_path / "store.duckdb"),
    )
    assert host_sentences(found)[1] == (
        "In the variant, 1 compute thread and 2 collective threads ran on each of ranks 0 and 1; cores not recorded."
    )
    assert found.variant.cores.cores is None


def test_device_runs_say_nothing_of_cores(grown):
    assert host_sentences(grown) == []


@pytest.mark.parametrize(
    ("settings", "environment", "expected"),
    [
        ({}, {"cores": 8, "threads_per_rank": 4}, (8, 4)),
        ({"OMP_NUM_THREADS": "2"}, {}, (None, 2)),
        ({"cores": 4}, {"cores": 8}, (8, None)),
        ({}, {"cores": True, "threads_per_rank": -1}, (None, None)),
        ({}, {"cores": "many"}, (None, None)),
    ],
)
def test_cores_are_read_from_run_json(settings, environment, expected):
    read = replace(tables(kernel(1, 2)), settings=(settings,), environment=(environment,))
    found = cores(read)
    assert (found.cores, found.threads_per_rank) == expected


def test_repeats_that_differ_leave_cores_unknown():
    read = tables(kernel(1, 2))
    two = replace(read, settings=({},) * 2, recorded=({},) * 2, environment=({"cores": 2}, {"cores": 4}))
    assert cores(two).cores is None
