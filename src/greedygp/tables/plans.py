"""What becomes of each column of a table: decided from all rows, before anything is learnt.

Numbers, words and dates are told apart by their values. Columns that say nothing (empty, constant)
or that no model can use (identifiers, free text) are left out, and the reason is kept. What had to
be guessed is said aloud (`assumptions`). What cannot be decided is a problem; all problems of a
table come in one message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from greedygp.tables.dates import are_day_numbers, calendar_of, parsed_dates
from greedygp.tables.doubts import alike_words, stand_in_dates, stand_ins
from greedygp.tables.names import UNNAMED
from greedygp.tables.problems import DataProblem, row_number
from greedygp.tables.values import (
    MISSING,
    has_decimal_commas,
    mixed_signs,
    signs_of,
    to_numbers,
    to_words,
    units_of,
)

if TYPE_CHECKING:
    import pandas

__all__ = [
    "FEWEST_ROWS_OF_A_WORD",
    "MEANS_MISSING",
    "MOST_WORDS",
    "Plan",
    "Plans",
    "infinite_values",
    "means_missing",
    "not_numbers",
    "plans_for",
]

MOST_WORDS = 50
COMMON_SHARE = 0.5  # of the rows, at least, whose word is common: else words tell little
LONG_WORDS = 30  # characters: longer ones on average are free text
FEWEST_ROWS_OF_A_WORD = 5  # for a feature of its own, where there are many words
FEW_NUMBERS = 10  # more different ones are no codes
FEW_WRONG = 0.1  # share of the values: fewer that are no numbers are slips, more are words
IDENTIFIER = re.compile(
    r"(^|.*[\s_.-])(id|uuid|guid|key|index|idx|rowid|row number)$|^id[\s_.-].*", re.IGNORECASE
)
CAMEL_IDENTIFIER = re.compile(r".*[a-z](Id|ID)$")
MEANS_MISSING = ("?", "-", "--", ".", "na", "n/a", "none", "null", "missing", "unknown", "nil", "*")


@dataclass
class Plan:
    """How one column is read.

    Attributes
    ----------
    kind : {"number", "category", "date"}
    grouped : bool
        Numbers with currency signs, percent signs, or commas between thousands.
    day_first : bool
        Dates in which 1/2/2020 is in February.
    time_only : bool
        Times, or durations, without a date.
    unit : str
        What stands behind every number.
    sign : str
        The currency, or %, of the numbers that have one.
    many : bool
        More words than may have a feature each; the rare ones share one.
    """

    kind: str
    grouped: bool = False
    day_first: bool = False
    time_only: bool = False
    many: bool = False
    unit: str = ""
    sign: str = ""


@dataclass
class Plans:
    """The plan of every column that is used, and what is to be said of the others.

    Attributes
    ----------
    columns : dict of str to Plan
    left_out : dict of str to str
        Columns that are not used, and why.
    assumptions : list of str
        Sentences about what had to be guessed.
    problems : list of str
        Sentences about what must be corrected.
    """

    columns: dict[str, Plan] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plans_for(
    table: pandas.DataFrame,
    categories: Collection[str] = (),
    numbers: Collection[str] = (),
    most_words: int = MOST_WORDS,
) -> Plans:
    """Decide about every column of a table.

    Parameters
    ----------
    table : DataFrame
        Its index numbers the rows of the file, from 0.
    categories, numbers : collections of str
        Columns that are words, and columns that are numbers, whatever they look like.
    most_words : int
        A column with more different words is left out.

    Returns
    -------
    Plans

    Raises
    ------
    DataProblem
        With a sentence for every column that cannot be decided about.
    """
    plans = Plans()
    for name in table.columns:
        values = table[name]
        present = values[values.notna()]
        if len(present) == 0:
            plans.left_out[name] = "it is empty"
        elif getattr(values.dtype, "kind", "O") == "c":
            plans.left_out[name] = "it holds complex numbers"
        elif name in categories or (name not in numbers and _are_categories(values)):
            _plan_words(plans, name, present, most_words, asked=True)
        elif name not in numbers and _is_row_numbers(name, present):
            plans.left_out[name] = f"it looks like an identifier (--numeric {name!r} keeps it)"
        else:
            _plan_by_values(plans, name, present, most_words, numbers)
    if plans.problems:
        several = f"{len(plans.problems)} columns need a decision. "
        raise DataProblem((several if len(plans.problems) > 1 else "") + " ".join(plans.problems))
    return plans


def _are_categories(values: pandas.Series) -> bool:
    """Tell whether a column says itself that it holds words."""
    import pandas

    return isinstance(values.dtype, pandas.CategoricalDtype)


def _is_row_numbers(name: str, present: pandas.Series) -> bool:
    """Tell whether a column is the index of a saved table, or numbers its rows."""
    numbers, wrong = to_numbers(present)
    if len(wrong) or len(numbers) < 3 or not np.all(numbers == np.round(numbers)):
        return False
    if name == UNNAMED:  # in whatever order: of a sample, of several files
        return True
    named = IDENTIFIER.match(name) or CAMEL_IDENTIFIER.match(name)
    return bool(named) and len(np.unique(numbers)) == len(numbers)


def _plan_by_values(
    plans: Plans, name: str, present: pandas.Series, most_words: int, numbers: Collection[str]
) -> None:
    """Decide about a column by what its values look like."""
    found, wrong = to_numbers(present)
    if len(wrong) and has_decimal_commas(present, wrong) and not _are_thousands(present):
        plans.problems.append(
            f"Column {name!r} has numbers with a decimal comma ({_example(present, wrong)}): give "
            f"--decimal ',', or read it as words with --categorical {name!r}."
        )
        return
    grouped = False
    if len(wrong):
        in_groups = to_numbers(present, grouped=True)
        if len(in_groups[1]) <= min(FEW_WRONG * len(present), len(wrong) - 1):
            example = str(present.iloc[int(wrong[0])]).strip()
            value = in_groups[0][int(wrong[0])]
            (found, wrong), grouped = in_groups, True
            if name not in numbers and (mixed := mixed_signs(present)):
                plans.left_out[name] = f"it holds {mixed} (--numeric {name!r} keeps it)"
                return
            if not np.isnan(value):
                plans.assumptions.append(
                    f"Column {name!r} was read as numbers: {example!r} is {value:.10g} "
                    f"(--categorical {name!r} reads it as words)."
                )
    if len(wrong) == len(present) and _plan_units(plans, name, present):
        return
    if _are_blanks(present, wrong, found):
        plans.problems.append(_slips(name, present, wrong))
    elif name not in numbers and _are_words(present, wrong, most_words):
        _plan_words(plans, name, present, most_words)
    elif len(wrong):
        plans.problems.append(_slips(name, present, wrong))
    elif np.any(np.isinf(found)):
        plans.problems.append(infinite_values(name, present, found))
    elif name not in numbers and are_day_numbers(found):
        plans.columns[name] = Plan("date")
        plans.assumptions.append(
            f"Column {name!r} was read as dates: {found[0]:.0f} is {found[0] // 10_000:.0f}-"
            f"{found[0] // 100 % 100:02.0f}-{found[0] % 100:02.0f} (--numeric {name!r} reads it as "
            "numbers)."
        )
    else:
        sign = max(signs_of(present)) if grouped else ""
        plans.columns[name] = Plan("number", grouped=grouped, sign=sign)
        _doubt(plans, stand_ins(f"Column {name!r}", found))


def _doubt(plans: Plans, sentence: str | None) -> None:
    if sentence is not None:
        plans.assumptions.append(sentence)


def _plan_units(plans: Plans, name: str, present: pandas.Series) -> bool:
    """Decide about a column of numbers with units; tell whether it is one."""
    units = units_of(present)
    example = str(present.iloc[0]).strip() if units else ""
    if len(units) == 1:
        value = to_numbers(present.iloc[:1], unit=units[0])[0][0]
        plans.columns[name] = Plan("number", unit=units[0])
        plans.assumptions.append(
            f"Column {name!r} was read as numbers: {example!r} is {value:.10g} (--categorical "
            f"{name!r} reads it as words)."
        )
        return True
    if len(units) > 1 and len(set(to_words(present))) > MOST_WORDS:
        listed = ", ".join(units[:5])
        plans.left_out[name] = (
            f"it holds numbers in different units ({listed}), such as {example!r}"
        )
        return True
    return False


def _are_blanks(present: pandas.Series, wrong: np.ndarray, found: np.ndarray) -> bool:
    """Tell whether all that is no number is one word for "missing", among many numbers."""
    words = {str(present.iloc[k]).strip().casefold() for k in wrong}
    several = len(np.unique(found[~np.isnan(found)])) > FEW_NUMBERS
    return len(words) == 1 and words <= set(MEANS_MISSING) and several


def _are_thousands(present: pandas.Series) -> bool:
    """Tell whether all commas may stand between thousands."""
    return len(to_numbers(present, grouped=True)[1]) == 0 or bool(units_of(present))


def _are_words(present: pandas.Series, wrong: np.ndarray, most_words: int) -> bool:
    """Tell whether a column of words, or of words and numbers, is one of words."""
    if len(wrong) == len(present):
        return True
    return len(wrong) > FEW_WRONG * len(present) and len(set(to_words(present))) <= most_words


def _plan_words(
    plans: Plans, name: str, present: pandas.Series, most_words: int, asked: bool = False
) -> None:
    """Decide about a column that holds words: dates, categories, identifiers or free text."""
    calendar = None if asked else calendar_of(present)
    if calendar is not None:
        times, wrong = parsed_dates(present, calendar.day_first)
        if len(wrong):
            plans.problems.append(not_dates(name, present, wrong))
            return
        if not calendar.sure:
            order = "day/month/year" if calendar.day_first else "month/day/year"
            plans.assumptions.append(
                f"The dates in column {name!r} were read as {order} ({calendar.example!r}); write "
                "them as 2020-12-31 if they are not."
            )
        plans.columns[name] = Plan(
            "date", day_first=calendar.day_first, time_only=calendar.time_only
        )
        _doubt(plans, stand_in_dates(f"Column {name!r}", present, times))
        return
    words = to_words(present)
    distinct = set(words) - {MISSING}
    if len(distinct) <= most_words:
        plans.columns[name] = Plan("category")
        _doubt(plans, alike_words(f"Column {name!r}", sorted(distinct)))
    elif np.mean([len(word) * (" " in word) for word in words]) > LONG_WORDS:
        plans.left_out[name] = f"it holds free text, such as {words[0][:40]!r}"
    elif len(distinct) == len(words):
        plans.left_out[name] = f"it looks like an identifier: {len(distinct)} different words"
    else:
        _plan_many_words(plans, name, words, len(distinct), most_words)


def _plan_many_words(
    plans: Plans, name: str, words: list[str], distinct: int, most_words: int
) -> None:
    """Decide about a column with more words than may have a feature each."""
    common = [
        (word, count)
        for word, count in Counter(words).most_common(most_words - 1)
        if count >= FEWEST_ROWS_OF_A_WORD
    ]
    if sum(count for _, count in common) < COMMON_SHARE * len(words):
        plans.left_out[name] = (
            f"it holds {distinct} different words, most of them rare; --max-categories allows more "
            f"than {most_words}"
        )
        return
    plans.columns[name] = Plan("category", many=True)
    plans.assumptions.append(
        f"Column {name!r} holds {distinct} different words: the {len(common)} most common have a "
        f"feature each, the others share one (--max-categories allows more than {most_words})."
    )


# ------------------------------------------------------------------------------- sentences


def _example(present: pandas.Series, wrong: np.ndarray) -> str:
    """Return the first wrong value and its row, as messages have them."""
    first = int(wrong[0])
    return f"{str(present.iloc[first]).strip()!r} in row {row_number(present, first)}"


def _slips(name: str, present: pandas.Series, wrong: np.ndarray) -> str:
    """Say that a few values of a column are not numbers, and what can be done."""
    remedy = (
        f"Correct the file, leave the column out with --drop {name!r}, or read it as words with "
        f"--categorical {name!r}."
    )
    missing = means_missing(present, wrong)
    if missing:
        remedy = f"{missing} Otherwise c{remedy[1:]}"
    return f"{not_numbers(f'Column {name!r}', present, wrong)} {remedy}"


def means_missing(present: pandas.Series, wrong: np.ndarray) -> str:
    """Propose --missing where all that is no number is one such word; else nothing."""
    words = sorted({str(present.iloc[k]).strip() for k in wrong})
    if len(words) == 1 and words[0].casefold() in MEANS_MISSING:
        return f"If {words[0]!r} means missing, give --missing {words[0]!r}."
    return ""


def not_numbers(what: str, present: pandas.Series, wrong: np.ndarray) -> str:
    """Say that a column of numbers holds something else."""
    if len(wrong) == len(present):
        return f"{what} holds no numbers; its first value is {_example(present, wrong)}."
    if len(wrong) == 1:
        return f"{what} holds numbers, except for {_example(present, wrong)}."
    return (
        f"{what} holds numbers, except for {len(wrong)} values; the first is "
        f"{_example(present, wrong)}."
    )


def not_dates(name: str, present: pandas.Series, wrong: np.ndarray) -> str:
    """Say that a column of dates holds something else."""
    words = {str(present.iloc[k]).strip() for k in wrong}
    missing = f" If that means missing, give --missing {min(words)!r}." if len(words) == 1 else ""
    return (
        f"Column {name!r} holds dates, except for {len(wrong)} of its values; the first is "
        f"{_example(present, wrong)}.{missing} Correct them, or leave the column out with --drop "
        f"{name!r}."
    )


def infinite_values(
    name: str, values: pandas.Series, numbers: np.ndarray, first_row: int | None = None
) -> str:
    """Say that a column holds infinite values."""
    places = np.flatnonzero(np.isinf(numbers))
    row = row_number(values, int(places[0]), first_row)
    if len(places) == 1:
        what, them = f"an infinite value in row {row}", "it"
    else:
        what, them = f"{len(places)} infinite values, the first in row {row}", "them"
    return f"Column {name!r} holds {what}; correct {them} or leave {them} empty."
