"""The texts of a run, understood once: what each host-range path says and what each kernel is called.

Loops here run over dictionaries of distinct texts, never over spans.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from abstep.model import RunTables

BACKWARD_PREFIX = "autograd::engine::evaluate_function: "
PACKING = re.compile(r"copy_bucket_to_grad|fsdp::.*copy|chunk_cat|split_with_sizes_copy", re.IGNORECASE)
VIEW = re.compile(r"^aten::as_strided$")
"""A view takes no time of its own; bare in a step it prepares packing (reducers view their buckets so)."""
BACKWARD = re.compile(r"^autograd::engine::evaluate_function|Backward")
OPTIMIZER = re.compile(r"^Optimizer\.step#")
FORWARD = re.compile(r"\.forward$")
TRITON_SIGNATURE = re.compile(r"(?:__|_)0d1d\w*$")
TRAILING_NUMBER = re.compile(r"_\d+$")


@dataclass(frozen=True)
class Dictionary:
    """A run's texts.

    Attributes:
        paths: path, in_optimizer, in_backward, in_forward, packing (by any range of the path), operator (the
            innermost range's text, without autograd's prefix), full (all ranges' texts), label (Int32: code of
            `operator`).
        kernels: name, base (the kernel's name without template arguments and the like), label (code of `base`).
        labels: label -> text, view (names nothing: a view that prepares packing).
        texts: name -> text.

    """

    paths: pl.DataFrame
    kernels: pl.DataFrame
    labels: pl.DataFrame
    texts: pl.DataFrame


def dictionary(run: RunTables) -> Dictionary:
    """Understand a run's names and paths."""
    text = dict(run.names.select("name", "text").iter_rows())
    paths = _paths(run.paths, text)
    spoken = run.spans["name"].unique().drop_nulls().to_list()
    kernels = [(name, base_name(text.get(name, ""))) for name in sorted(spoken)]
    words = sorted({row[-1] for row in paths} | {base for _, base in kernels})
    code = {word: number for number, word in enumerate(words)}
    return Dictionary(
        pl.DataFrame(
            [(*row, code[row[-1]]) for row in paths],
            schema={
                "path": pl.Int32,
                "in_optimizer": pl.Boolean,
                "in_backward": pl.Boolean,
                "in_forward": pl.Boolean,
                "packing": pl.Boolean,
                "full": pl.String,
                "operator": pl.String,
                "label": pl.Int32,
            },
            orient="row",
        ),
        pl.DataFrame(
            [(name, base, code[base]) for name, base in kernels],
            schema={"name": pl.Int32, "base": pl.String, "label": pl.Int32},
            orient="row",
        ),
        pl.DataFrame(
            [(number, word, VIEW.search(word) is not None) for number, word in enumerate(words)],
            schema={"label": pl.Int32, "text": pl.String, "view": pl.Boolean},
            orient="row",
        ),
        run.names.select("name", "text"),
    )


def _paths(paths: pl.DataFrame, text: dict[int, str]) -> list[tuple[int, bool, bool, bool, bool, str, str]]:
    """Say of every path what its ranges make it: a range's word holds for all that it encloses."""
    own = {path: (parent, text.get(name, "")) for path, parent, name in paths.iter_rows()}
    said: dict[int, tuple[bool, bool, bool, bool, str]] = {-1: (False, False, False, False, "")}
    for path in own:
        chain = []
        at = path
        while at not in said:
            chain.append(at)
            at = own[at][0] if at in own else -1
        for step in reversed(chain):
            parent, name = own[step]
            before = said.get(parent, said[-1])
            said[step] = (
                before[0] or OPTIMIZER.search(name) is not None,
                before[1] or BACKWARD.search(name) is not None,
                before[2] or FORWARD.search(name) is not None,
                before[3] or PACKING.search(name) is not None,
                f"{before[4]} > {name}" if before[4] else name,
            )
    return [(path, *said[path], name.removeprefix(BACKWARD_PREFIX)) for path, (_, name) in own.items()]


def base_name(text: str) -> str:
    """Return a kernel's name without `void`, template arguments, parameters and generated suffixes."""
    text = text.removeprefix("void ")
    kept: list[str] = []
    depth = 0
    for letter in text.replace("(anonymous namespace)::", ""):
        if letter in "<(":
            if letter == "(" and depth == 0:
                break
            depth += 1
        elif letter in ">)":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(letter)
    short = TRITON_SIGNATURE.sub("", "".join(kept).strip())
    return TRAILING_NUMBER.sub("", short) or text
