"""What the columns of a table are: the type that reads every cell, preferring the more informative one.

The order is: numbers (then counts, booleans, codes, identifiers among them), booleans in words, dates, times, ordered
scales, and at last categories, identifiers and free text, told apart by how often values repeat. A decision that a
person might want to reverse becomes a sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from credo.tables import missing
from credo.tables.cells import Cells, Context, cells_of
from credo.tables.dates import DATE_FORMATS, TIME_FORMATS, DateFormat, parse_dates, swapped
from credo.tables.numbers import NUMBER_FORMATS, PLAIN, NumberFormat
from credo.tables.options import ReadOptions
from credo.tables.scales import ordered_levels
from credo.tables.schema import Column, Schema

if TYPE_CHECKING:
    import polars as pl

    from credo.tables.readers import Reader

__all__ = ["Inferred", "infer_schema", "infer_column"]

# Whole numbers beyond this are not all float64 numbers.
_EXACT = 2**53
# Fewer rows than this, and "every value differs" happens by chance.
_MANY_ROWS = 20
# A stray word among numbers is taken for a missing cell if the words are this few and this rare.
_STRAY_WORDS, _STRAY_SHARE = 3, 0.05
_NO_YES = (
    ("false", "true"), ("f", "t"), ("no", "yes"), ("n", "y"), ("off", "on"), ("nein", "ja"), ("non", "oui"),
    ("no", "si"), ("no", "sí"), ("não", "sim"), ("nee", "ja"), ("nej", "ja"), ("absent", "present"),
    ("negative", "positive"),
)  # fmt: skip
_ID_NAME = re.compile(r"(?i:(^|[\s_.\-])(id|uuid|guid|key|index|rowid|rownames?|row names|unnamed: 0)$)|[a-z]I[Dd]$")
_DATE_NAME = re.compile(r"(?i)(date|datum|fecha|yyyymmdd|day$)")


@dataclass
class Inferred:
    """A schema with the sentences about how it was found."""

    schema: Schema
    decisions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def infer_schema(reader: Reader, sample: pl.DataFrame, options: ReadOptions) -> Inferred:
    """The schema of a table, or of some of its columns, from a sample of its rows (all, when the file is small)."""
    dialect = getattr(reader, "dialect", None)
    context = Context(options, dialect.delimiter if dialect is not None else None)
    texts = {n: cells_of(sample[n]) for n, dtype in sample.schema.items() if str(dtype) == "String"}
    for cells in texts.values():
        context.learn_decimal(number_formats(cells.without(missing.IN_NUMBERS | context.stated), context))
    columns = []
    for name, header in zip(reader.names, reader.headers):
        if name not in sample.columns:
            continue
        if name in texts and name not in reader.levels:
            column = infer_column(texts[name], context)
        else:
            column = typed_column(sample[name], reader.levels.get(name, ()))
        column = replace(column, header=None if header == name else header)
        if column.constant and sample[name].null_count() < sample.height:
            context.warn(name, "constant")
        columns.append(column)
    return Inferred(Schema(tuple(columns)), context.decisions, context.warnings)


def infer_column(cells: Cells, context: Context) -> Column:
    """The column that reads all of these cells."""
    core = cells.without(missing.IN_NUMBERS | context.stated)
    markers = cells.among(missing.IN_NUMBERS | context.stated)
    if core.distinct:
        for attempt in (as_number, as_date):
            if column := attempt(core, cells, context):
                return said_missing(replace(column, missing=(*column.missing, *markers)), cells, context)
    core = cells.without(missing.IN_CATEGORIES | context.stated)
    markers = cells.among(missing.IN_CATEGORIES | context.stated)
    if not core.distinct:
        context.warn(cells.name, "empty")
        return Column(cells.name, "category", missing=markers, constant=True)
    if column := as_boolean(core) or as_ordered(core, context):
        return said_missing(replace(column, missing=markers), cells, context)
    column = as_words(core, context)
    if column.type in ("text", "identifier"):
        markers, kept = in_free_text(cells, context)
        if kept:
            context.warn(
                cells.name,
                f"holds {', '.join(map(repr, kept))} as a value, since it is {column.type}; --missing {kept[0]!r} "
                "makes it a missing cell",
            )
    return said_missing(replace(column, missing=markers), cells, context)


def in_free_text(cells: Cells, context: Context) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(words that mean missing, words kept as values) in a column where nearly every value is another.

    There a sign that repeats is a marker, and one that occurs once is somebody's answer, like a word.
    """
    repeated = cells.values.filter(cells.counts > 1)
    markers = missing.CODES | context.stated | (missing.SIGNS & set(repeated.to_list()))
    return cells.among(markers), cells.among(missing.IN_CATEGORIES - markers)


def said_missing(column: Column, cells: Cells, context: Context) -> Column:
    if column.missing:
        n = cells.n_present - cells.without(column.missing).n_present
        context.decide(
            column.name, f"{', '.join(map(repr, column.missing))} read as missing", f"{n} cell{'s' if n > 1 else ''}"
        )
    return column


def number_formats(cells: Cells, context: Context) -> list[NumberFormat]:
    """The formats that read every value, among those the options allow."""
    if not cells.distinct or not cells.values.head(20).str.contains(r"\d|(?i)nan|inf").any():
        return []
    options, fitting = context.options, []
    for format in NUMBER_FORMATS:
        stated = (options.decimal in (None, format.decimal)) and (options.thousands in (None, format.thousands))
        if fitting and format.signs and not fitting[0].signs:
            break  # signs are looked for only where numbers alone do not do
        # Most formats fail on the first cells already.
        if stated and format.matches(cells.values.head(100)).all() and format.matches(cells.values).all():
            fitting.append(format)
    return fitting


def as_number(core: Cells, cells: Cells, context: Context) -> Column | None:
    formats = number_formats(core, context)
    stray: tuple[str, ...] = ()
    if not formats and (found := without_strays(core, context)):
        core, stray = found
        formats = number_formats(core, context)
        context.warn(
            core.name,
            f"numbers but for {', '.join(map(repr, stray))}, read as missing; --type NAME=category keeps the words",
        )
    if not formats:
        return None
    format = chosen_format(core, formats, context)
    numbers = parsed(core.values, format)
    base = Column(
        core.name,
        "number",
        decimal=format.decimal,
        thousands=format.thousands,
        signs=format.signs,
        missing=stray,
    )
    if not_numbers := int(numbers.is_nan().sum()):
        # Where missing cells are left empty, "nan" is the outcome of a computation; else it is how they are written.
        if cells.n_empty == 0:
            words = tuple(core.values.filter(numbers.is_nan()).to_list())
            return replace(base, missing=(*stray, *words))
        context.warn(core.name, f"holds {not_numbers} value(s) that are not a number (nan)")
    return kind_of_number(base, core, numbers, context)


def kind_of_number(base: Column, core: Cells, numbers: pl.Series, context: Context) -> Column:
    """number, count, boolean, or a code or identifier written in digits."""
    finite = numbers.filter(numbers.is_finite())
    whole = len(finite) == len(numbers) and bool((finite == finite.round()).all())
    base = replace(base, constant=numbers.n_unique() == 1)
    if not whole:
        return base
    unique = core.distinct == core.n_present
    codes = core.values.str.contains(r"^0\d").any() and core.values.str.contains(r"^\d+$").all()
    if codes and core.values.str.len_chars().n_unique() == 1:
        kind = "identifier" if unique and core.distinct >= _MANY_ROWS else "category"
        context.decide(core.name, f"codes with leading zeros, read as {kind} (--type NAME=count if they count)")
        return Column(core.name, kind, missing=base.missing, constant=base.constant)
    if (finite.abs() > _EXACT).any():
        kind = "identifier" if core.distinct > 0.5 * core.n_present else "number"
        effect = "kept as text" if kind == "identifier" else "rounded to 53 bits"
        context.warn(core.name, f"holds whole numbers beyond 2^53; read as {kind}, {effect}")
        return replace(base, type=kind) if kind == "number" else Column(core.name, kind, missing=base.missing)
    if _DATE_NAME.search(core.name) and is_compact_date(core.values):
        context.decide(core.name, "dates written yyyymmdd")
        return Column(core.name, "date", formats=("%Y%m%d",), missing=base.missing, constant=base.constant)
    if unique and 3 <= core.n_present == core.n_rows and _ID_NAME.search(core.name):
        context.decide(core.name, "numbers the rows, read as identifier (--type NAME=count if it counts)")
        return Column(core.name, "identifier", missing=base.missing)
    if set(core.values.to_list()) == {"0", "1"}:
        return Column(core.name, "boolean", levels=("0", "1"), missing=base.missing)
    return replace(base, type="count") if bool((finite >= 0).all()) else base


def without_strays(core: Cells, context: Context) -> tuple[Cells, tuple[str, ...]] | None:
    """The cells without a few rare words, if what remains are numbers."""
    if core.n_present < _MANY_ROWS:
        return None
    words = core.values.filter(~core.values.str.contains(r"\d"))
    if not 0 < len(words) <= _STRAY_WORDS:
        return None
    rest = core.without(words.to_list())
    if rest.n_present < (1 - _STRAY_SHARE) * core.n_present or not number_formats(rest, context):
        return None
    return rest, tuple(sorted(words.to_list()))


def chosen_format(core: Cells, formats: list[NumberFormat], context: Context) -> NumberFormat:
    """One format among those that fit: "1.234" and "1,234" are ambiguous, and the file decides."""
    marked = core.values.filter(core.values.str.contains(r"[.,]"))
    point = next((f for f in formats if f.decimal == "."), None)
    comma = next((f for f in formats if f.decimal == ","), None)
    if not len(marked) or point is None or comma is None:
        if formats[0] != PLAIN:
            context.decide(core.name, formats[0].description)
        return formats[0]
    semicolons = context.delimiter == ";" and context.decimals != {"."}
    if marked.str.contains(",", literal=True).any():  # 1,234
        choice = comma if context.decimals == {","} or semicolons else point
    else:  # 1.234
        commas = context.decimals == {","} or (semicolons and grouped_by_points(core.values))
        choice = comma if commas else point
    context.decide(
        core.name,
        f"{choice.description}, though it could be read otherwise (--decimal and --thousands to state them)",
        repr(marked[0]),
    )
    return choice


def grouped_by_points(values: pl.Series) -> bool:
    """Whether points look like thousands marks: small whole numbers have none, large ones always do."""
    marked = values.str.contains(".", literal=True)
    bare = values.filter(~marked)
    return (
        int(marked.sum()) >= 2
        and len(bare) > 0
        and not bare.str.contains(r"^\d{4,}").any()
        and bool(bare.str.contains(r"^\d{3}$").any())
        and not values.filter(marked).str.contains(r"^0").any()
    )


def as_boolean(core: Cells) -> Column | None:
    found = {value.lower(): value for value in core.values.to_list()} if core.distinct <= 6 else {}
    for no, yes in _NO_YES:
        if set(found) == {no, yes}:
            return Column(core.name, "boolean", levels=(found[no], found[yes]))
    return None


def as_date(core: Cells, cells: Cells, context: Context) -> Column | None:
    """Dates in one format; in several, if together they read every cell; or times of day."""
    if not core.values.head(20).str.contains(r"\d").all():
        return None
    for formats, kind in ((DATE_FORMATS, "date"), (TIME_FORMATS, "time")):
        read = {f.format: flags for f in formats if (flags := reads(core.values, f)).any()}
        whole = [format for format, flags in read.items() if flags.all()]
        chosen = (whole[0],) if whole else covering(read, len(core.values))
        if chosen:
            say_dates(core, chosen, whole, context)
            return Column(core.name, kind, formats=chosen, constant=core.distinct == 1)
    return None


def reads(values: pl.Series, format: DateFormat) -> pl.Series:
    import polars as pl

    if not values.head(1000).str.contains(format.pattern).any():
        return pl.Series([False])
    return values.to_frame("v").select(format.parse(pl.col("v")).is_not_null()).to_series()


def covering(read: dict[str, pl.Series], n: int, most: int = 4) -> tuple[str, ...]:
    """Few formats that together read every value, the one that reads most first; () if there are none."""
    left, chosen = None, []
    while len(chosen) < most and read:
        gains = {format: int((flags if left is None else flags & left).sum()) for format, flags in read.items()}
        best = max(gains, key=lambda format: gains[format])
        if gains[best] == 0:
            return ()
        chosen.append(best)
        left = ~read[best] if left is None else left & ~read[best]
        if not left.any():
            return tuple(chosen)
    return ()


def say_dates(core: Cells, chosen: tuple[str, ...], whole: list[str], context: Context) -> None:
    first, *others = chosen
    other = swapped(first)
    if others:
        context.warn(core.name, f"mixes {len(chosen)} ways of writing dates, {', '.join(chosen)}")
    elif other in whole:
        context.warn(
            core.name, f"could have day and month the other way; read as {first} (--type NAME=date:{other} if so)"
        )
    elif first != "%Y-%m-%d":
        context.decide(core.name, f"written {first}")


def is_compact_date(values: pl.Series) -> bool:
    import polars as pl

    if not values.str.contains(r"^(1[89]|20)\d{6}$").all():
        return False
    return bool(values.to_frame("v").select(parse_dates(pl.col("v"), ("%Y%m%d",)).is_not_null().all()).item())


def as_ordered(core: Cells, context: Context) -> Column | None:
    levels = ordered_levels(core.values.to_list()) if core.distinct <= 50 else None
    if levels is None or core.distinct < 2:
        return None
    context.decide(core.name, f"ordered {' < '.join(levels)} (--type NAME=category if not)")
    return Column(core.name, "ordered", levels=levels)


def as_words(core: Cells, context: Context) -> Column:
    """category, identifier or text, by how often values repeat and how many words they have."""
    n, distinct = core.n_present, core.distinct
    words = float(core.values.str.count_matches(r"\S+").mean() or 0)  # type: ignore[arg-type]
    length = float(core.values.str.len_chars().mean() or 0)  # type: ignore[arg-type]
    # Exactly one word a cell and hardly a repetition: a key. Several words: prose, or names of things.
    if distinct == n and n >= 3 and (n >= _MANY_ROWS or _ID_NAME.search(core.name)) and words < 1.5:
        kind = "identifier"
    elif (distinct == n and n >= 3) or (distinct > 0.5 * n and words >= 2) or (length > 60 and distinct >= _MANY_ROWS):
        kind = "text"
    else:
        kind = "category"
    return Column(core.name, kind, constant=distinct == 1)


def typed_column(series: pl.Series, levels: tuple[str, ...]) -> Column:
    """The column of a typed file or dataframe: its type says most."""
    import polars as pl

    name, present = series.name, series.drop_nulls()
    constant = present.n_unique() <= 1
    if levels:
        return Column(name, "ordered", levels=levels, constant=constant)
    if series.dtype == pl.Boolean:
        return Column(name, "boolean", levels=("false", "true"), constant=constant)
    if series.dtype in (pl.Datetime, pl.Time):
        return Column(name, "date" if series.dtype == pl.Datetime else "time", constant=constant)
    if series.dtype.is_integer():
        if len(present) >= 3 and present.n_unique() == len(present) and _ID_NAME.search(name):
            return Column(name, "identifier")
        if present.n_unique() == 2 and set(present.unique().to_list()) == {0, 1}:
            return Column(name, "boolean", levels=("0", "1"))
        return Column(name, "count" if bool((present >= 0).all()) else "number", constant=constant)
    return Column(name, "number", constant=constant)


def parsed(values: pl.Series, format: NumberFormat) -> pl.Series:
    import polars as pl

    return values.to_frame("v").select(format.parse(pl.col("v"))).to_series()
