"""What a collective's record says of ranks, groups and sizes; what no table can hold is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from events import Event, call, kernel, op, trace, write

from abstep.trace.detect import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from abstep.trace.tables import FileTables


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def one(*events: Event) -> FileTables:
        return read_trace(write(tmp_path / "rank0.json", trace(*events)))

    return one


@pytest.mark.parametrize(
    ("name", "rank", "peer"),
    [
        ("broadcast", 2, 2),
        ("reduce", 0, 0),
        ("gather", 1, 1),
        ("scatter", 3, 3),
        ("send", 3, 3),
        ("recv", 1, 1),
        ("allreduce", 2, None),
        ("_allgather_base", 2, None),
        ("broadcast", "2", None),
        ("broadcast", -1, None),
        ("broadcast", None, None),
        ("broadcast", 2**31 - 1, 2**31 - 1),
        ("broadcast", 2**31, None),
        ("broadcast", 10**30, None),
        ("broadcast", True, None),
        ("broadcast", [1], None),
        ("broadcast", {"root": 1}, None),
        ("broadcast", 1.5, None),
    ],
)
def test_the_rank_a_record_names_is_a_root_or_a_peer_only_where_the_kind_has_one(
    read: Any, name: str, rank: object, peer: int | None
) -> None:
    said = {"Collective name": name, "Group size": 4, "Rank": rank}
    tables = read(
        op("record_param_comms", 0, 50, **said),
        call(1, 10),
        kernel(1, 200, 5, "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"),
    )
    assert tables.collectives["peer"].to_list() == [peer]
    assert tables.facts.odd_events == 0


@pytest.mark.parametrize(
    ("said", "column"),
    [
        ({"Group size": 2**40}, "group_size"),
        ({"Group size": -1}, "group_size"),
        ({"Process Group Ranks": "[0, 99999999999]"}, "group_ranks"),
        ({"Process Group Ranks": "[0, 2147483648]"}, "group_ranks"),
        ({"In msg nelems": 2**62, "Out msg nelems": 2**62, "dtype": "Float"}, "bytes"),
    ],
)
def test_what_no_table_can_hold_is_not_known(read: Any, said: dict[str, object], column: str) -> None:
    tables = read(
        op("record_param_comms", 0, 50, **{"Collective name": "allreduce"} | said),
        call(1, 10),
        kernel(1, 200, 5, "ncclDevKernel_AllReduce_Sum_f32"),
    )
    assert tables.collectives.select("collective", column).rows() == [("all_reduce", None)]
    assert tables.facts.odd_events == 0
