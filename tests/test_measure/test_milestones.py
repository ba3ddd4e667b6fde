"""Milestones of a step, us from its window's start (SEMANTICS 7)."""

from __future__ import annotations

from handmade import collective, copy, kernel, tables

from abstep.measure.run import measure
from abstep.windows import cut

NODE = ("autograd::engine::evaluate_function: MmBackward0",)
UPDATE = ("Optimizer.step#Adam",)
PACKING = ("torch.distributed.ddp.reducer::copy_bucket_to_grad",)
STEPS = [(0, 900), (900, 1_900)]


def milestones(*activities):
    closing = kernel(1_100, 1_110, launch=920)
    run = measure(
        cut(tables(*activities, closing, steps=STEPS, threads={0: (True, False), 1: (False, True)}))
    )
    row = run.milestones.sort("step").to_dicts()[0]
    names = ("first_launch", "backward_end", "last_collective_end", "update_end", "tail")
    return {name: None if row[name] is None else row[name] / 1000 for name in names}


def test_all_of_them():
    found = milestones(
        kernel(100, 150, launch=10, path=("Net.forward",)),
        kernel(150, 200, launch=20, path=NODE, thread=1),
        collective(210, 300, launch=195, path=NODE, thread=1),
        kernel(200, 260, launch=30, path=NODE, thread=1),
        collective(310, 420, launch=40, path=NODE, thread=1),
        kernel(430, 440, launch=50, path=PACKING, thread=1),
        kernel(440, 500, launch=60, path=UPDATE),
        kernel(500, 560, launch=61, path=UPDATE),
        copy(600, 700, launch=62),
    )
    assert found == {
        "first_launch": 100,  # when its producer ended, at 200; launched at 195
        "backward_end": 160,  # 260; what unpacks buckets is no backward
        "last_collective_end": 320,
        "update_end": 460,
        "tail": 180,  # from 260 to the first update at 440
    }


def test_a_step_without_them_says_so():
    found = milestones(kernel(100, 150, launch=10, path=("Net.forward",)))
    assert set(found.values()) == {None}
