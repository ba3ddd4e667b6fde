"""A prediction beside a measured variant: the same comparison that `abstep compare` makes, and how far off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abstep.compare.build import compare
from abstep.units import name_text, pct_text, ratio_text, time_text, value_text, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abstep.compare.comparison import Comparison
    from abstep.lab.predict import Prediction
    from abstep.measure.run import MeasuredRun

CHANGED = frozenset({"grew", "appeared"})


@dataclass(frozen=True)
class Against:
    """What was predicted and what was measured. Times ns.

    Attributes:
        prediction: of the variant, from the base.
        comparison: of the two runs.

    """

    prediction: Prediction
    comparison: Comparison

    @property
    def measured_delta(self) -> float | None:
        """Return the measured change of the step."""
        return self.comparison.step_time.delta

    @property
    def error(self) -> float | None:
        """Return predicted - measured change of the step."""
        measured = self.measured_delta
        return None if measured is None else self.prediction.delta("step") - measured

    @property
    def error_pct(self) -> float | None:
        """Return the size of the error in percent of the measured change."""
        if self.error is None or not self.measured_delta:
            return None
        return 100 * abs(self.error / self.measured_delta)

    def variant(self, part: str) -> float | None:
        """Return the variant's measured step or category."""
        if part == "step":
            return self.comparison.step_time.variant
        found = (row.delta.variant for row in self.comparison.decomposition if row.category == part)
        return next(found, None)

    def told(self) -> list[str]:
        """Return predicted beside measured, and what the model could not know."""
        return list(self._told())

    def _told(self) -> Iterator[str]:
        step = self.comparison.step_time
        if self.error is None or step.delta is None:
            yield "The measured runs have no step times to compare."
            return
        predicted = self.prediction.delta("step")
        of = (
            f" ({pct_text(self.error_pct, sign=False)} of the measured change)"
            if step.verdict in ("faster", "slower")
            else f" (the measured change is {word(step.verdict)})"
            if step.verdict
            else ""
        )
        yield (
            f"Predicted {time_text(predicted, sign=True)}, measured {value_text(step)}: off by "
            f"{time_text(self.error, sign=True)}{of}."
        )
        if step.ci_low is not None and step.ci_high is not None:
            inside = step.ci_low <= predicted <= step.ci_high
            yield f"The prediction lies {'inside' if inside else 'outside'} the measured interval."
        status = self.comparison.comparability.status
        if status != "comparable":
            differ = [
                check.id for check in self.comparison.comparability.checks if check.status in ("warn", "fail")
            ]
            yield f"The runs are {status.replace('_', ' ')}: {', '.join(differ)}."
        grown = [
            row
            for row in self.comparison.contention
            if row.delta.verdict in CHANGED and row.delta.delta is not None
        ]
        growth = sum(row.delta.delta or 0.0 for row in grown)
        known = self.prediction.delta("contention")
        if grown and growth > abs(self.error) / 2 and growth > 2 * known:
            largest = max(grown, key=lambda row: row.delta.delta or 0.0)
            stretched = (
                f" ({name_text(largest.compute, width=40)} ran {ratio_text(largest.variant_stretch)} as long)"
                if largest.variant_stretch
                else ""
            )
            yield (
                f"Contention grew by {time_text(growth, sign=True)} in the measured variant{stretched}; the prediction "
                f"holds {time_text(known, sign=True)} (--compute-slowdown and --transport-slowdown say more)."
            )


def against(prediction: Prediction, base: MeasuredRun, variant: MeasuredRun) -> Against:
    """Compare the runs and put the prediction beside it.

    Args:
        prediction: from `base`.
        base: the run it was made from.
        variant: the run it was made for.

    """
    return Against(prediction, compare(base, variant))
