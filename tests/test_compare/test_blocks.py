"""Evidence behind a changed contention: the thread blocks of the collectives' kernels (SEMANTICS 6)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synth import scenario, write_pair

from abstep.compare.build import CompareOptions
from abstep.compare.causes import contention_sentences
from abstep.pipeline import Reading, compare_traces


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    places = write_pair(folder, *scenario("contention"))
    return compare_traces(*places, CompareOptions(warmup=0), Reading(store=folder / "store.duckdb"))


def with_blocks(found, base, variant):
    rows = tuple(replace(row, blocks=base if row.side == "base" else variant) for row in found.collectives)
    return replace(found, collectives=rows)


def test_blocks_are_those_of_the_kernels_grid(found):
    assert {row.blocks for row in found.collectives} == {(8, 8)}


def test_a_change_of_blocks_is_told_beside_contention(found):
    said = " ".join(contention_sentences(with_blocks(found, (8, 8), (16, 32))))
    assert "took 8 thread blocks in the base and 16 to 32 in the variant" in said


@pytest.mark.parametrize("blocks", [(8, 8), None])
def test_nothing_is_said_where_blocks_are_equal_or_unknown(found, blocks):
    assert "thread blocks" not in " ".join(contention_sentences(with_blocks(found, blocks, blocks)))
