"""The mask builder: hide more and more characters at one end of the text.

Pure. 94139, 9413*, 941**, *****.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictBool, model_validator

from sqlanon.hierarchies.base import Ending, Family, Formula
from sqlanon.hierarchies.definition import MOST_LEVELS, Definition, Whole, require_family, require_few_levels
from sqlanon.hierarchies.levels import MaskLevel, Side

Characters = Annotated[Whole, Field(ge=1, le=10_000)]


class Mask(Definition):
    """Hide characters at one end of the text: 94139, 9413*, 941**, *****."""

    length: Characters | None = Field(
        None, description="Length of the longest value. Absent: the longest value of the column; then give steps."
    )
    steps: tuple[Characters, ...] | None = Field(
        None, description="Number of characters hidden at each level, increasing. Default: one more per level."
    )
    side: Side = Field("right", description="The end at which characters are hidden.")
    character: str = Field("*", min_length=1, max_length=1, description="What stands for a hidden character.")
    top: StrictBool | None = Field(
        None,
        description="Whether * stands above the last step. Default: where the values have several labels there. false: "
        "they have one, other values are refused.",
    )

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        if self.steps is None:
            if self.length is None:
                raise ValueError("give length, steps or both")
            if self.length > MOST_LEVELS:
                raise ValueError(
                    f"one step for each of {self.length} characters makes more than {MOST_LEVELS} levels; give steps"
                )
            return self
        require_few_levels(len(self.steps))
        if not self.steps:
            raise ValueError("steps is empty; name the number of hidden characters of each level")
        if any(upper <= lower for lower, upper in zip(self.steps, self.steps[1:], strict=False)):
            raise ValueError("steps must increase: each level hides more characters than the one below")
        if self.length is not None and self.steps[-1] > self.length:
            raise ValueError("steps hide more characters than length has")
        return self

    def rule(self, family: Family) -> Formula:
        """One level per step; a last step that hides everything is the top, of another the values tell."""
        fitting = (Family.TEXT, Family.INTEGER, Family.OTHER)
        require_family("mask", family, fitting, "use interval for numbers and date for dates")
        steps = self.steps if self.steps is not None else tuple(range(1, (self.length or 0) + 1))
        levels = tuple(MaskLevel(masked, self.length, self.side, self.character) for masked in steps)
        if self.top:
            return Formula(levels, None)
        if self.length is not None and steps[-1] == self.length:
            return Formula(levels[:-1], self.character * steps[-1])
        return Formula(levels, Ending.FOUND if self.top is None else Ending.LAST)
