"""Columns become numbers, and problems are sentences that name the file's rows."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from greedygp.tables import (  # noqa: E402
    ColumnProblem,
    DataProblem,
    TableEncoder,
    make_pipeline,
)
from greedygp.tables.training import Recipe, prepare  # noqa: E402
from tests.tables.examples import table  # noqa: E402


def test_against_scikit_learn():
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline as pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = table(200)
    frame.loc[::7, "rooms"] = np.nan
    frame.loc[::9, "colour"] = None
    encoder = TableEncoder().fit(frame)
    numbers = pipeline(StandardScaler(), SimpleImputer(strategy="median", add_indicator=True))
    plain = frame.astype({"sold": float}).fillna({"colour": "(missing)"})
    theirs = make_column_transformer(
        (numbers, ["size", "rooms", "sold", "price"]),
        (OneHotEncoder(sparse_output=False), ["colour"]),
    )
    np.testing.assert_allclose(encoder.transform(frame), theirs.fit_transform(plain), atol=1e-12)
    words = ["(missing)", "blue", "green", "red"]
    names = ["size", "rooms", "sold", "price", "rooms is missing", *(f"colour={w}" for w in words)]
    assert encoder.feature_names == names
    assert encoder.groups.tolist() == [0, 1, 3, 4, 1, 2, 2, 2, 2]


def test_missing_values_are_filled_and_counted():
    frame = pandas.DataFrame({"a": [1.0, 2.0, None, 9.0], "c": ["x", None, "y", "x"]})
    encoder = TableEncoder().fit(frame)
    assert [column.missing for column in encoder.columns_] == [1, 1]
    assert encoder.columns_[1].words == ["(missing)", "x", "y"]
    assert encoder.feature_names[:2] == ["a", "a is missing"]
    notes = {}
    X = encoder.transform(frame, notes)
    np.testing.assert_array_equal(X[:, 1], [0, 0, 1, 0])
    filled = encoder.transform(frame.fillna({"a": 2.0}))
    np.testing.assert_array_equal(np.delete(X, 1, axis=1), np.delete(filled, 1, axis=1))
    assert notes == {"a: missing, filled with the median": 1}
    assert encoder.columns_[0].middle == pytest.approx(2.0)


def test_it_is_a_transformer_of_scikit_learn():
    import pickle

    from sklearn.base import clone

    frame = table(40)
    encoder = clone(TableEncoder(categories=["rooms"])).fit(frame)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    named = clone(encoder).set_output(transform="pandas").fit_transform(frame)
    assert list(named) == list(encoder.get_feature_names_out()) == encoder.feature_names
    np.testing.assert_array_equal(named, encoder.transform(frame))
    array = frame[["size", "price"]].to_numpy()
    assert TableEncoder().fit(array).feature_names == ["x0", "x1"]


def test_rare_words_of_a_long_column_share_a_feature():
    words = ["Ulm"] * 30 + ["Bonn"] * 20 + [f"w{k}" for k in range(20)]
    frame = pandas.DataFrame({"town": words, "size": np.arange(70.0)})
    encoder = TableEncoder(most_words=10).fit(frame)
    assert encoder.columns_[0].words == ["Bonn", "Ulm", "(other)"]
    assert "the 2 most common have a feature each" in encoder.assumptions_[0]
    notes = {}
    new = pandas.DataFrame({"town": ["Ulm", "w3", "Rom"], "size": [0.0, 1.0, 2.0]})
    X = encoder.transform(new, notes)
    np.testing.assert_array_equal(X[:, 1:], [[0, 1, 0], [0, 0, 1], [0, 0, 1]])
    assert notes == {}


def test_categories_of_pandas_are_words():
    frame = pandas.DataFrame({"a": pandas.Categorical([1, 2, None, 1] * 5)})
    assert TableEncoder().fit(frame).columns_[0].words == ["(missing)", "1", "2"]
    assert TableEncoder(numbers=["a"]).fit(frame).columns_[0].kind == "number"


def test_one_number_and_holes_are_two_words():
    """A box that is ticked or not: what is missing is all that it tells."""
    frame = pandas.DataFrame({"vip": [1.0, None] * 10})
    encoder = TableEncoder().fit(frame)
    assert encoder.feature_names == ["vip=(missing)", "vip=1"]
    np.testing.assert_array_equal(encoder.transform(frame)[:2], [[0, 1], [1, 0]])


def test_a_pipeline_and_the_command_line_are_the_same():
    from sklearn.model_selection import cross_val_score

    from greedygp import SparseGPRegressor
    from greedygp.tables.training import train

    frame = table(60)
    frame.loc[::5, "size"] = np.nan
    settings = {"max_basis": 8, "max_iter": 3, "random_state": 0}
    trained = train(frame, Recipe("price", test=0.0, model="sparsegp", settings=settings))
    X, y = frame.drop(columns="price"), frame["price"]
    pipeline = make_pipeline(SparseGPRegressor(**settings)).fit(X, y)
    np.testing.assert_array_equal(pipeline.predict(X), trained.model.predict(frame))
    np.testing.assert_array_equal(trained.model.pipeline.predict(X), pipeline.predict(X))
    assert np.all(np.isfinite(cross_val_score(pipeline, X, y, cv=2)))


def test_words_not_seen_before_are_nothing_and_counted():
    encoder = TableEncoder().fit(pandas.DataFrame({"c": ["x", "y", "x"]}))
    notes = {}
    X = encoder.transform(pandas.DataFrame({"c": ["z", "x", None, "z"]}), notes)
    np.testing.assert_array_equal(X, [[0, 0], [1, 0], [0, 0], [0, 0]])
    assert notes == {
        "c: 'z' was not seen in training": 2,
        "c: missing, which it never was in training": 1,
    }


def test_columns_that_say_nothing_are_left_out():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 3], "c": ["x", "x"], "d": [None, None]})
    encoder = TableEncoder().fit(frame)
    assert [column.name for column in encoder.columns_] == ["a"]
    assert set(encoder.left_out_) == {"b", "c", "d"}
    with pytest.raises(DataProblem, match="No column is left"):
        TableEncoder().fit(frame[["b", "c"]])


def test_numbers_as_categories():
    frame = pandas.DataFrame({"zip": [10, 20, None, 10]})
    encoder = TableEncoder(categories=["zip"]).fit(frame)
    assert encoder.columns_[0].words == ["(missing)", "10", "20"]
    text = pandas.DataFrame({"zip": ["10", "20", None, "10"]})
    np.testing.assert_array_equal(encoder.transform(text), encoder.transform(frame))
    with pytest.raises(DataProblem, match=r"no column 'zap'.*did you mean 'zip'"):
        TableEncoder(categories=["zap"]).fit(frame)


def test_order_of_columns_and_others_do_not_matter():
    frame = table()
    encoder = TableEncoder().fit(frame)
    shuffled = frame[frame.columns[::-1]].assign(another="text")
    np.testing.assert_array_equal(encoder.transform(shuffled), encoder.transform(frame))


many = [f"w{k}" for k in range(80)]


# ------------------------------------------------------------------------ what becomes of it


LEFT_OUT = {
    "identifiers": ("odd", many, "looks like an identifier: 80 different words"),
    "many words": ("odd", [*many, "w0"], "80 different words, most of them rare; --max-categories"),
    "free text": (
        "odd",
        [f"{w} and a long story about it that goes on" for w in many],
        "free text, such as 'w0 and a long",
    ),
    "lists": ("odd", [[1, 2]] * 40 + [[k] for k in range(70)], "different words"),
    "saved index": ("Unnamed: 0", np.arange(0, 160, 2), "looks like an identifier"),
    "id": ("id", np.arange(80)[::-1], "--numeric 'id' keeps it"),
    "ID": ("customerID", 1000 + np.arange(80), "looks like an identifier"),
    "row_id": ("row_id", np.arange(80.0), "looks like an identifier"),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_columns_that_no_model_can_use_are_left_out(kind):
    name, values, why = LEFT_OUT[kind]
    frame = pandas.DataFrame({"fine": np.arange(len(values)), name: values})
    encoder = TableEncoder().fit(frame)
    assert [column.name for column in encoder.columns_] == ["fine"]
    assert why in encoder.left_out_[name]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("year", np.arange(1940, 2020)),
        ("width", np.random.default_rng(0).normal(size=80)),
        ("id", np.repeat(np.arange(40), 2)),
        ("paid", np.arange(80)),
    ],
)
def test_numbers_that_only_look_like_identifiers_are_used(name, values):
    assert TableEncoder().fit(pandas.DataFrame({name: values})).feature_names == [name]


def test_an_identifier_can_be_asked_for():
    frame = pandas.DataFrame({"id": np.arange(30)})
    assert TableEncoder(numbers=["id"]).fit(frame).feature_names == ["id"]
    with pytest.raises(DataProblem, match="no column 'di' to treat as a number"):
        TableEncoder(numbers=["di"]).fit(frame)


DATES = {
    "iso": (["2020-01-01", "2020-02-03"] * 40, "2020-02-03", ("month", "day of week", "elapsed")),
    "dotted": (["1.2.2020", "13.12.2021"] * 40, "2.1.2020", ("year", "month", "elapsed")),
    "slashes": (["1/31/2020", "12/1/2020 10:00"] * 40, "1/2/2020", ("month", "hour", "elapsed")),
    "months": (["3 March 2020", "14 Jan 2021"] * 40, "1 May 2020", ("year", "month", "elapsed")),
    "times": (["10:30", "11:45:10"] * 40, "13:00", ("hour",)),
    "durations": (["2:30", "101:45"] * 40, "24:00", ("hour",)),
    "stamps": (list(pandas.date_range("2020-01-01", periods=80)), "2020-03-01", ("elapsed",)),
    "zones": (["2020-01-01T10:00:00Z", "2020-01-02T10:00:00+02:00"] * 40, None, ("hour",)),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_expanded(kind):
    values, other, parts = DATES[kind]
    frame = pandas.DataFrame({"sold": values})
    encoder = TableEncoder().fit(frame)
    (column,) = encoder.columns_
    assert column.kind == "date"
    names = " ".join(encoder.feature_names)
    assert all(f"sold: {part}" in names for part in parts)
    X = encoder.transform(frame)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    again = encoder.transform(pandas.DataFrame({"sold": [other, values[1], None]}))
    np.testing.assert_array_equal(again[1], X[1])
    assert np.all(np.isfinite(again))


def test_parts_of_a_date():
    frame = pandas.DataFrame({"t": ["2020-02-29 06:30", "2021-03-01 12:00", "2020-03-05 00:00"]})
    column = TableEncoder().fit(frame).columns_[0]
    parts = {part.name: part for part in column.parts}
    assert column.origin == "2020-02-29 06:30:00"
    assert parts["t: year"].centre == pytest.approx((2020 + 2021 + 2020) / 3)
    assert parts["t: month"].centre == pytest.approx(8 / 3)
    assert parts["t: day of week"].centre == pytest.approx((5 + 0 + 3) / 3)
    assert parts["t: hour"].centre == pytest.approx((6.5 + 12 + 0) / 3)
    elapsed = (0 + 366 + 5.5 / 24 + 5 - 6.5 / 24) / 3
    assert parts["t: elapsed days"].centre == pytest.approx(elapsed)


@pytest.mark.parametrize("words", [["1.2.3", "1.10.2"], ["10.0.0.1", "10.0.0.2"], ["2020-01"] * 2])
def test_what_only_looks_like_a_date(words):
    column = TableEncoder().fit(pandas.DataFrame({"v": [*words, *words, "1.2.4"] * 10})).columns_[0]
    assert column.kind == "category"


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_scaling_neither_overflows_nor_vanishes(size):
    frame = pandas.DataFrame({"a": np.linspace(-1, 1, 30) * size})
    X = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_allclose(X.std(), 1.0)
    plain = np.random.default_rng(0).normal(3, 0.01, 50)
    (column,) = TableEncoder().fit(pandas.DataFrame({"a": plain})).columns_
    assert column.centre == pytest.approx(np.mean(plain), rel=1e-12)
    assert column.width == pytest.approx(np.std(plain), rel=1e-9)


def test_order_of_day_and_month():
    first = TableEncoder().fit(pandas.DataFrame({"t": ["13/2/2020", "1/3/2020"]}))
    assert first.columns_[0].day_first
    assert first.assumptions_ == []
    unsure = TableEncoder().fit(pandas.DataFrame({"t": ["3/2/2020", "1/3/2020"]}))
    assert not unsure.columns_[0].day_first
    assert "month/day/year ('3/2/2020')" in unsure.assumptions_[0]
    assert (
        TableEncoder().fit(pandas.DataFrame({"t": ["3.2.2020", "1.3.2020"]})).columns_[0].day_first
    )


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        (["$1,234", "$12.50", "$7"], [1234, 12.5, 7]),
        (["1,234,567", "12", "-3,000"], [1234567, 12, -3000]),
        (["12 %", "7.5%", "100 %"], [12, 7.5, 100]),
        (["1,200 EUR", "€ 5", "3"], [1200, 5, 3]),
        (["(1,200)", "5", "-3"], [-1200, 5, -3]),
    ],
)
def test_money_percent_and_thousands(written, numbers):
    frame = pandas.DataFrame({"a": written * 10})
    plain = pandas.DataFrame({"a": np.array(numbers * 10, dtype=float)})
    encoder = TableEncoder().fit(frame)
    np.testing.assert_allclose(encoder.transform(frame), TableEncoder().fit(plain).transform(plain))
    np.testing.assert_allclose(encoder.transform(plain), TableEncoder().fit(plain).transform(plain))
    (sentence,) = encoder.assumptions_
    assert "was read as numbers" in sentence
    assert "--categorical 'a'" in sentence


# --------------------------------------------------------------------------------- problems


REFUSED = {
    "a slip": (["1.5"] * 79 + ["1.5x"], "except for '1.5x' in row 80"),
    "slips": (["1.5"] * 78 + ["x", "y"], "except for 2 values; the first is 'x' in row 79"),
    "question marks": (["1.5"] * 78 + ["?"] * 2, r"give --missing '\?'"),
    "decimal commas": (["1,5", "2,25", "3"] * 30, "decimal comma.*--decimal ','"),
    "some decimal commas": (["1.5"] * 39 + ["3,5"], "decimal comma.*'3,5' in row 40"),
    "infinite": ([1.0] * 79 + [np.inf], "an infinite value in row 80; correct it"),
    "slip among dates": (["2020-01-01"] * 79 + ["soon"], "holds dates, except for.*'soon' in row"),
    "no such day": (["2020-01-01"] * 79 + ["2020-02-31"], "'2020-02-31' in row 80"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_columns(kind):
    values, message = REFUSED[kind]
    frame = pandas.DataFrame({"fine": np.arange(len(values)), "odd": values})
    with pytest.raises(DataProblem, match=message) as error:
        TableEncoder().fit(frame)
    assert "'odd'" in str(error.value)


def test_all_problems_come_in_one_message():
    columns = {name: values for name, (values, _) in REFUSED.items() if len(values) == 80}
    frame = pandas.DataFrame(columns)
    with pytest.raises(DataProblem) as error:
        TableEncoder().fit(frame)
    assert str(error.value).startswith(f"{len(frame.columns)} columns need a decision. ")
    assert all(f"'{name}'" in str(error.value) for name in frame)


def test_messages_name_the_rows_of_the_file():
    """Neither the rows without a target nor the split change the numbers of the rows."""
    frame = pandas.DataFrame({"a": [str(k) for k in range(40)], "y": np.arange(40.0)})
    frame.loc[[0, 1, 5], "y"] = np.nan
    frame.loc[20, "a"] = "x"
    for seed in range(4):
        with pytest.raises(DataProblem, match="except for 'x' in row 21"):
            prepare(frame, Recipe("y", test=0.5, seed=seed))


def test_what_a_column_holds_is_decided_from_all_rows():
    """A word that only rows held out have makes the whole column one of words."""
    frame = pandas.DataFrame({"a": ["1", "2"] * 20 + ["x"] * 10})
    encoder = TableEncoder().fit(frame, train=np.arange(40))
    assert encoder.columns_[0].words == ["1", "2"]
    notes = {}
    encoder.transform(frame, notes)
    assert notes == {"a: 'x' was not seen in training": 10}


def test_new_rows_must_fit():
    encoder = TableEncoder().fit(table())
    with pytest.raises(ColumnProblem, match="lacks the columns 'size', 'rooms'"):
        encoder.transform(table()[["colour", "sold", "price"]])
    with pytest.raises(ColumnProblem, match="did you mean 'Size'"):
        encoder.transform(table().rename(columns={"size": "Size"}))
    wrong = table().astype({"size": object})
    wrong.loc[4, "size"] = "large"
    with pytest.raises(ColumnProblem, match="row 105 has 'large'"):
        encoder.transform(wrong, first_row=101)
    infinite = table()
    infinite.loc[2, "size"] = -np.inf
    with pytest.raises(ColumnProblem, match=r"infinite.*row 3"):
        encoder.transform(infinite)


def test_mixed_words_and_numbers_are_a_category_where_they_are_few():
    encoder = TableEncoder().fit(pandas.DataFrame({"c": ["1", "2", "other"] * 10}))
    assert encoder.columns_[0].words == ["1", "2", "other"]


def test_percentages_and_currencies_that_are_others_than_in_training():
    n = 30
    rows = pandas.DataFrame(
        {"p": [f"{k}%" for k in range(n)], "m": [f"${k}" if k % 2 else f"{k}" for k in range(n)]}
    )
    encoder = TableEncoder().fit(rows)
    notes = {}
    encoder.transform(rows, notes)
    assert notes == {}
    new = pandas.DataFrame({"p": ["0.1", "10%", "0", None], "m": ["5", "$5", "\u20ac5", "USD 5"]})
    encoder.transform(new, notes)
    assert notes == {
        "p: missing, filled with the median": 1,
        "p: not in % as in training, but read as if it were": 1,
        "m: not in USD as in training, but read as if it were": 1,
    }
    plain = pandas.DataFrame({"p": [0.1, 0.0, 0.3], "m": [1.0, 2.0, 3.0]})
    notes = {}
    encoder.transform(plain, notes)
    assert notes == {"p: not in % as in training, but read as if it were": 2}
