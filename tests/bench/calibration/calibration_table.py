"""The calibration table: what is measured, and its bars (STATISTICS 3 where that gives one)."""

from __future__ import annotations

from functools import partial

import calibration_data as data
from calibration_cells import (
    Bar,
    Cell,
    check_rate,
    family_rates,
    ranks_as_replicates,
    step_rates,
    step_rates_over_rho,
    welch_steps,
)

SIZES = (5, 6, 8, 10, 15, 20, 50, 100)
UP_TO_7: Bar = (0.0, 7.0)
RATES: dict[str, Bar] = {"FDR": (0.0, 5.0), "cover nulls": (94.0, 99.0), "cover changed": (93.0, 100.0)}


def at_least(percent: float) -> Bar:
    return (percent, 100.0)


def at_most(percent: float) -> Bar:
    return (0.0, percent)


def step(group, name, bars, **kind):
    return Cell(group, name, partial(step_rates, **kind), bars)


def family(group, name, bars, **kind):
    return Cell(group, name, partial(family_rates, **kind), bars)


def step_false() -> list[Cell]:
    """Nothing changed: how often a difference of step time is found."""
    cells = [
        step("step A/A", f"rho {rho} {shape} n={n}", {"rejected": at_most(high)}, n=n, rho=rho, shape=shape)
        for rho, high in ((0.0, 7.0), (0.3, 7.0), (0.6, 10.0))
        for shape in data.TUNED
        for n in SIZES
    ]
    for shape in data.HELD_OUT:
        bar = None if shape == "flip" else UP_TO_7
        cells += [
            step(
                "step A/A, shapes not tuned on",
                f"{shape} n={n}",
                {"rejected": bar},
                n=n,
                rho=0.0,
                shape=shape,
            )
            for n in SIZES
        ]
    for repeats in (2, 3, 5):
        cells += [
            step(
                "step A/A, repeats",
                f"{repeats}+{repeats} x {n} run sd {100 * sd:g} %",
                {"rejected": at_most(8.0)},
                n=n,
                repeats=repeats,
                run_sd=sd,
            )
            for sd in (0.0, 0.005, 0.01)
            for n in (5, 10, 30)
        ]
    cells += [
        step(
            "step A/A, one launch a side", f"run sd {100 * sd:g} % n={n}", {"rejected": None}, n=n, run_sd=sd
        )
        for sd in (0.005, 0.01)
        for n in (20, 50)
    ]
    for shared in (0.0, 0.6, 0.9):
        cells += [
            step(
                "step A/A, same batches",
                f"corr {shared} rho {rho} n={n}",
                {"rejected": at_most(high), "paired": None},
                n=n,
                shared=shared,
                rho=rho,
            )
            for rho, high in ((0.0, 7.0), (0.3, 7.0), (0.6, 10.0))
            for n in (10, 20, 50)
        ]
    return cells


def step_found() -> list[Cell]:
    """A change of step time: how often it is called, and how often it is called unchanged.

    The bars stand at the mean over rho 0 and .3, and at rho .3 alone too, which is the harder.
    """
    cells = []
    for percent, n, shape, low in (
        (5, 5, "plain", 54.0),
        (5, 10, "plain", 76.0),
        (5, 20, "plain", 97.0),
        (2, 20, "plain", 48.0),
        (2, 50, "plain", 90.0),
        (2, 50, "outlier", 88.0),
    ):
        group, kind = f"step +{percent} % found", {"n": n, "shape": shape, "effect": percent / 100}
        both = partial(step_rates_over_rho, **kind)
        cells.append(Cell(group, f"rho 0 and .3 {shape} n={n}", both, {"called": at_least(low)}))
        cells.append(step(group, f"rho .3 {shape} n={n}", {"called": at_least(low)}, rho=0.3, **kind))
    cells += [
        step(
            "step +1 % found, same batches",
            f"corr {r} n={n}",
            {"called": None, "paired": None},
            n=n,
            effect=0.01,
            shared=r,
        )
        for r, n in ((0.0, 50), (0.6, 50), (0.0, 20), (0.9, 20))
    ]
    cells += [
        step(
            "step called unchanged",
            f"truth {times:g} delta n={n}",
            {"unchanged": at_most(high)},
            n=n,
            effect=0.01 * times,
        )
        for times, high in ((1, 6.0), (2, 0.5))
        for n in (10, 20, 50, 100)
    ]
    return cells


def family_false() -> list[Cell]:
    """Nothing changed in a family of 100 intervals: how often any is called changed."""
    group = "any interval A/A"
    cells = [
        family(group, f"n={n}", {"any": UP_TO_7, "cover nulls": RATES["cover nulls"]}, n=n) for n in SIZES
    ]
    cells += [
        family(
            f"{group}, repeats",
            f"{r}+{r} x {n} run sd {100 * sd:g} %",
            {"any": UP_TO_7},
            n=n,
            repeats=r,
            run_sd=sd,
            step_sd=sd,
        )
        for r, n in ((2, 10), (2, 30), (3, 5), (3, 30), (5, 10))
        for sd in (0.0, 0.007)
    ]
    cells += [
        family(f"{group}, more correlated", f"rho {rho} n={n}", {"any": UP_TO_7}, n=n, rho=rho)
        for rho in (0.45, 0.6)
        for n in (8, 10, 12, 15, 20, 50, 100)
    ]
    cells += [
        family(
            f"{group}, a launch's pace shared by all",
            f"{r}+{r} x {n} sd {100 * sd:g} %",
            {"any": UP_TO_7},
            n=n,
            repeats=r,
            common_sd=sd,
        )
        for r, n in ((2, 30), (2, 100), (3, 30))
        for sd in (0.03, 0.1)
    ]
    for dwell in (3, 10, 50):
        cells += [
            family(
                f"{group}, on and off in blocks",
                f"of {dwell} {r}+{r} x {n}",
                {"any": None},
                n=n,
                repeats=r,
                dwell=dwell,
            )
            for n, r in ((10, 1), (20, 1), (50, 1), (100, 1), (30, 2), (30, 3))
        ]
    return cells


def family_found() -> list[Cell]:
    """Ten of 100 intervals changed: how many are found, and what else is called."""
    gone = (
        (5, 1, 18.0), (6, 1, 38.0), (8, 1, 52.0), (10, 1, 64.0), (20, 1, 84.0), (50, 1, 94.0),
        (10, 2, 52.0), (30, 2, 88.0), (5, 3, 80.0), (30, 3, 96.0),
    )  # fmt: skip
    cells = [
        family(
            "disappeared",
            f"{r}+{r} x {n}",
            {"found": at_least(low), "labelled": at_least(99.0), **RATES},
            n=n,
            repeats=r,
            factors=(0.0,),
        )
        for n, r, low in gone
    ]
    cells += [
        family("x2 x.3 x3", f"n={n}", {"found": at_least(low), **RATES}, n=n, factors=(2.0, 0.3, 3.0))
        for n, low in ((10, 25.0), (20, 57.0), (50, 76.0))
    ]
    cells += [
        family(
            "interval called unchanged",
            f"truth {times:g} delta n={n}",
            {"unchanged": at_most(high)},
            n=n,
            margins=times,
            changed=50,
        )
        for times, high in ((1.0, 6.0), (2.0, 0.5))
        for n in (10, 20, 50, 100)
    ]
    return cells


def itself() -> list[Cell]:
    runs = (
        (10, 1, 0.3), (20, 1, 0.3), (50, 1, 0.6), (10, 2, 0.3), (30, 2, 0.3), (30, 3, 0.6),
        (15, 1, 0.6), (10, 2, 0.6), (15, 2, 0.6), (15, 3, 0.6),
    )  # fmt: skip
    return [
        Cell(
            "a run against itself",
            f"{r} x {n} rho {rho}",
            partial(check_rate, n=n, repeats=r, rho=rho),
            {"found": UP_TO_7},
        )
        for n, r, rho in runs
    ]


def must_fail() -> list[Cell]:
    """Negative controls: these methods must fail by far (STATISTICS 3), which shows that the bars bite."""
    cells = [
        family("must fail: plain Welch", f"any interval n={n}", {"any": at_least(20.0)}, n=n, welch=True)
        for n in (10, 20, 50)
    ]
    cells += [
        Cell(
            "must fail: plain Welch",
            f"step rho {rho} n=20",
            partial(welch_steps, n=20, rho=rho),
            {"rejected": at_least(bar)},
        )
        for rho, bar in ((0.3, 10.0), (0.6, 25.0))
    ]
    cells += [
        Cell(
            "must fail: 8 ranks as replicates",
            f"step n={n}",
            partial(ranks_as_replicates, n=n),
            {"rejected": at_least(45.0)},
        )
        for n in (5, 20)
    ]
    return cells


def table() -> list[Cell]:
    """Return all cells."""
    return [*step_false(), *step_found(), *family_false(), *family_found(), *itself(), *must_fail()]
