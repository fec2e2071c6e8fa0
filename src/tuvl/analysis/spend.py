"""What model calls use at most: calls, tokens, dollars; and how budgets cut it.

A budget sees what answered calls report. What attempts use that fail nobody reports, so it comes on top: each may cost
what the answered one costs, `attempts` times in all.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from tuvl.analysis.amount import NOTHING, Amount, exactly, highest
from tuvl.analysis.language_models import ModelFacts
from tuvl.analysis.measure import Measure
from tuvl.dataclass import dataclass

ONE = exactly(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """Upper bounds; each field by itself, so that they need not all be reached in one run."""

    model_calls: Amount = NOTHING
    """Requests sent, those that are made again included."""
    tool_calls: Amount = NOTHING
    input_tokens: Amount = NOTHING
    output_tokens: Amount = NOTHING
    total_tokens: Amount = NOTHING
    cost_usd: Amount = NOTHING
    counted_input: Amount = NOTHING
    """What budgets see: that of answered calls."""
    counted_output: Amount = NOTHING
    counted_total: Amount = NOTHING
    counted_cost: Amount = NOTHING
    wasted_output: Amount = NOTHING
    """Output of attempts that failed."""
    attempts: Amount = ONE
    """Most attempts of any of the calls."""
    input_price: Amount = NOTHING
    """Highest price of an input token among the models."""
    output_price: Amount = NOTHING

    def __add__(self, other: "Spend") -> "Spend":
        """One after the other."""
        if other is NO_SPEND:
            return self
        return other if self is NO_SPEND else _by_field((self, other), _both)

    def times(self, count: float) -> "Spend":
        """So many times."""
        if self is NO_SPEND or count == 1:
            return self
        if not count:
            return NO_SPEND
        return _by_field((self,), lambda name, values: values[0] if name in _HIGHEST else values[0].times(count))

    def __mul__(self, count: Amount) -> "Spend":
        """As many times as an amount says."""
        if self is NO_SPEND or count.value == 0:
            return NO_SPEND
        return _by_field((self,), lambda name, values: values[0] if name in _HIGHEST else values[0] * count)

    def or_more(self, other: "Spend") -> "Spend":
        """Either of them."""
        if other is NO_SPEND or self is other:
            return self
        return other if self is NO_SPEND else _by_field((self, other), lambda _, values: values[0].or_more(values[1]))

    def at_most(self, other: "Spend") -> "Spend":
        """The smaller of two bounds for one thing, field by field."""
        return _by_field((self, other), lambda _, values: values[0].at_most(values[1]))

    def relabelled(self, label: Callable[[Amount], Amount]) -> "Spend":
        """The same, every amount with other words for what set it."""
        return self if self is NO_SPEND else _by_field((self,), lambda _, values: label(values[0]))

    def within_tokens(self, limit: Amount) -> "Spend":
        """What is left of it when answered calls together use no more tokens than `limit`."""
        counted = self.counted_total.at_most(limit)
        if counted is self.counted_total:
            return self
        inputs, outputs = self.counted_input.at_most(counted), self.counted_output.at_most(counted)
        real, waste = counted * self.attempts, self.wasted_output
        total, real_output = self.total_tokens.at_most(real + waste), self.output_tokens.at_most(outputs + waste)
        return replace(
            self,
            counted_total=counted,
            counted_input=inputs,
            counted_output=outputs,
            total_tokens=total,
            input_tokens=self.input_tokens.at_most(real),
            output_tokens=real_output,
            cost_usd=self.cost_usd.at_most(self._dearest(total, real_output)),
            counted_cost=self.counted_cost.at_most(self._dearest(counted, outputs)),
        )

    def within_cost(self, limit: Amount) -> "Spend":
        """The same for dollars."""
        counted = self.counted_cost.at_most(limit)
        if counted is self.counted_cost:
            return self
        real = counted * self.attempts + self.wasted_output * self.output_price
        return replace(self, counted_cost=counted, cost_usd=self.cost_usd.at_most(real))

    def _dearest(self, total: Amount, output: Amount) -> Amount:
        """The highest price of so many tokens, of which no more than `output` are output."""
        inputs, outputs = self.input_price, self.output_price
        if inputs.value is None or outputs.value is None or total.value is None:
            return total * (inputs + outputs)
        if outputs.value <= inputs.value or output.value is None:
            return total * inputs.or_more(outputs)
        most = min(output.value, total.value)
        return Amount(most * outputs.value + (total.value - most) * inputs.value, by=total.by)


NO_SPEND = Spend()

_HIGHEST = frozenset({"attempts", "input_price", "output_price"})
_NAMES = tuple(field.name for field in fields(Spend))


def calls(
    count: Amount, *, inputs: Amount, outputs: Amount, model: ModelFacts, attempts: int, measure: Measure
) -> Spend:
    """Calls of one model: `count` answered ones, with `inputs` and `outputs` tokens in all of them together."""
    input_price, output_price = model.price(measure)
    waste = outputs.times(attempts - 1)
    real_inputs, real_outputs = inputs.times(attempts), outputs + waste
    return Spend(
        model_calls=count.times(attempts),
        input_tokens=real_inputs,
        output_tokens=real_outputs,
        total_tokens=real_inputs + real_outputs,
        cost_usd=real_inputs * input_price + real_outputs * output_price,
        counted_input=inputs,
        counted_output=outputs,
        counted_total=inputs + outputs,
        counted_cost=inputs * input_price + outputs * output_price,
        wasted_output=waste,
        attempts=exactly(attempts),
        input_price=input_price,
        output_price=output_price,
    )


def by_field(spends: Sequence[Spend], combine: Callable[[Sequence[Amount]], Amount]) -> Spend:
    """Combine each field by itself; prices and attempts are the highest."""
    return _by_field(spends, lambda name, values: highest(values) if name in _HIGHEST else combine(values))


def same_in_all(amount: Amount) -> Spend:
    """A spend that is this amount in every field: what nobody knows."""
    return Spend(**dict.fromkeys(_NAMES, amount))


def _both(name: str, values: Sequence[Amount]) -> Amount:
    return highest(values) if name in _HIGHEST else values[0] + values[1]


def _by_field(spends: Sequence[Spend], combine: Callable[[str, Sequence[Amount]], Amount]) -> Spend:
    return Spend(**{name: combine(name, [getattr(spend, name) for spend in spends]) for name in _NAMES})
