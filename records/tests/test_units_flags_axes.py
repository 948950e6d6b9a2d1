# SPDX-License-Identifier: Apache-2.0
"""The registers of units, flags and axes, and what they say of names that nobody registered."""

import math

from records.flags import MEANINGS, OVERSUBSCRIBED, meaning
from records.units import along_curve, axis_of, beside_curve, unit_of


def test_nothing_is_implausible_in_an_unknown_unit():
    unit = unit_of("quanta/s")
    assert (unit.symbol, unit.greatest, unit.signed, unit.steps) == ("quanta/s", math.inf, True, ())


def test_an_axis_is_named_and_has_the_unit_of_its_name():
    found = [
        (axis.title, axis.unit) for axis in map(axis_of, ("message_bytes", "delay_s", "ranks"))
    ]
    assert found == [("message length", "bytes"), ("delay s", "s"), ("ranks", "")]
    assert axis_of("sizes").lists


def test_a_curve_runs_along_the_first_axis_with_a_unit():
    at = (("construct", "Send/Recv"), ("delay_s", 0.5), ("message_bytes", 8))
    assert along_curve(at) == ("delay_s", 0.5)
    assert beside_curve(at) == (("construct", "Send/Recv"), ("message_bytes", 8))
    assert along_curve((("node", "n1"),)) is None
    assert beside_curve((("node", "n1"),)) == (("node", "n1"),)


def test_the_meaning_of_a_flag_is_that_of_its_text():
    assert meaning("oversubscribed in 2 of 5") == MEANINGS[OVERSUBSCRIBED]
    assert meaning("OSU 7.4") == ""
