"""Tables as people have them: what each is, and what the program should say of it.

Every table has the target `y` and, unless it says otherwise, two plain columns `a` and `b`.
"""

from dataclasses import dataclass

import numpy as np
import pandas

N = 60


def frame(**columns):
    """Two columns, a target, and whatever is nasty."""
    rng = np.random.default_rng(1)
    table = pandas.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)}).round(3)
    table["y"] = (2 * table["a"] - table["b"] + 0.1 * rng.normal(size=N)).round(3)
    return table.assign(**columns)


def csv(**columns):
    return frame(**columns).to_csv(index=False).encode()


@dataclass
class Nasty:
    """One table.

    Attributes
    ----------
    content : bytes
    says : str
        Words of the output of `fit`.
    code : int
        Exit code of `fit`; 0: the other commands must work, too.
    reading, learning : tuples of str
        Options of all commands, and of those that learn.
    target : str
    predict : int
        Exit code of `predict`.
    """

    content: bytes
    says: str
    code: int = 0
    reading: tuple = ()
    learning: tuple = ()
    target: str = "y"
    predict: int = 0


DAYS = pandas.date_range("2020-01-01", periods=N)
FAR = int(pandas.__version__.split(".")[0]) >= 3  # whether dates may be beyond 2262
MONTHS = pandas.date_range("2015-01-01", periods=N, freq="MS")
WORDS = [f"w{k % 55}" for k in range(N)]
STORY = [f"row {k} is a long remark by someone who likes words" for k in range(N)]
UUIDS = [f"{k:08x}-0000-4000-8000-{k:012x}" for k in range(N)]
SLIP = [*map(str, range(N - 1)), "x"]
plain = csv()
european = frame().to_csv(index=False, sep=";", decimal=",").encode()
latin = ("größe;y\n" + "\n".join(f"{k};{2 * k + k % 3}" for k in range(N))).encode("latin-1")
patients = frame().set_axis(pandas.RangeIndex(N, name="PATIENT_ID")).to_csv().encode()
number, classes = "regression", "classification"

TABLES = {
    # ------------------------------------------------------------------- how files are written
    "plain": Nasty(plain, "2 from 2 columns"),
    "semicolons and decimal commas": Nasty(european, "--decimal ','", 4),
    "decimal commas, said": Nasty(european, "2 from 2 columns", reading=("--decimal", ",")),
    "tabs": Nasty(frame().to_csv(index=False, sep="\t").encode(), "2 from 2 columns"),
    "bars": Nasty(frame().to_csv(index=False, sep="|").encode(), "2 from 2 columns"),
    "all quoted": Nasty(frame().to_csv(index=False, quoting=1).encode(), "2 from 2 columns"),
    "spaces around": Nasty(plain.replace(b",", b" , "), "2 from 2 columns"),
    "separator at the end": Nasty(plain.replace(b"\n", b",\n"), "2 from 2 columns"),
    "windows": Nasty(plain.replace(b"\n", b"\r\n"), "2 from 2 columns"),
    "old mac": Nasty(plain.replace(b"\n", b"\r"), "2 from 2 columns"),
    "blank lines": Nasty(plain.replace(b"\n", b"\n\n"), "2 from 2 columns"),
    "blank first line": Nasty(b"\n" + plain, "2 from 2 columns"),
    "byte order mark": Nasty(b"\xef\xbb\xbf" + plain, "2 from 2 columns"),
    "latin-1": Nasty(latin, "--encoding cp1252", 3),
    "latin-1, said": Nasty(latin, "1 from 1 column", reading=("--encoding", "latin-1")),
    "utf-16": Nasty(plain.decode().encode("utf-16"), "--encoding utf-16", 3),
    "comments first": Nasty(b"# made today\n# by hand\n" + plain, "2 from 2 columns"),
    "names in a comment": Nasty(b"# " + plain, "2 from 2 columns"),
    "title first": Nasty(b"My table\n" + plain, "Lines before the names must begin with #", 3),
    "footer": Nasty(plain + b"Total,,\n", "1 without a target", predict=6),
    "footer with numbers": Nasty(
        plain + b"Total,3,4\n", "Row 61 looks like a line of totals", predict=6
    ),
    "footer of words": Nasty(
        csv(t=["Ulm", "Bonn"] * 30) + b",,300.5,Total\n", "line of totals ('Total' in 't')"
    ),
    "sum alone": Nasty(plain + b",,120.5\n", "Row 61 has a target and nothing else"),
    "names again in between": Nasty(plain + plain, "'y' in row 61", 4),
    "colons": Nasty(plain.replace(b",", b":"), "Give --separator if there should be more", 4),
    "colons, said": Nasty(
        plain.replace(b",", b":"), "2 from 2 columns", reading=("--separator", ":")
    ),
    "one long line": Nasty(plain + b"1,2,3,4,5\n", "line 61 below the column names has 5", 3),
    "open quote": Nasty(plain + b'"1,2,3\n4,5,6\n', "a quotation mark opens near line 61 below", 3),
    "one row": Nasty(b"a,y\n1,2\n", "Only one row has a value of the target", 4),
    "no target at all": Nasty(csv(y=None), "No row has a value of the target", 4),
    "one column": Nasty(b"y\n1\n2\n", "Read 2 rows and 1 column from t.csv", 4),
    "short lines": Nasty(plain + b"1.0\n2.0\n", "2 without a target"),
    "german thousands": Nasty(
        frame(f=[f"{1000 + 13 * k:,}".replace(",", ".") for k in range(N)])
        .to_csv(index=False, sep=";", decimal=",")
        .encode(),
        "3 from 3 columns",
        reading=("--decimal", ","),
    ),
    "separator told to a spreadsheet": Nasty(
        b"sep=;\n" + frame().to_csv(index=False, sep=";").encode(), "2 from 2 columns"
    ),
    "spaces between": Nasty(frame().to_string(index=False).encode(), "give --separator ' '", 4),
    "spaces between, said": Nasty(
        frame().to_string(index=False).encode(), "2 from 2 columns", reading=("--separator", " ")
    ),
    "tab, spelt out": Nasty(
        frame().to_csv(index=False, sep="\t").encode(), "2 from", reading=("--separator", r"\t")
    ),
    "two separators": Nasty(plain, "'ab' is not a single", 2, reading=("--separator", "ab")),
    "two decimal marks": Nasty(plain, "'.,' is not a single", 2, reading=("--decimal", ".,")),
    "utf-16 without a mark": Nasty(
        plain.decode().encode("utf-16-le"), "Give --encoding utf-16-le", 3
    ),
    "utf-16 the other way round": Nasty(
        plain.decode().encode("utf-16-be"), "2 from", reading=("--encoding", "utf-16-be")
    ),
    "web page": Nasty(b"<!DOCTYPE html><html><body>404</body></html>\n", "It is a web page", 3),
    "json": Nasty(b'[{"a": 1, "y": 2}]', "It is JSON", 3),
    "picture": Nasty(b"\x89PNG\r\n\x1a\n" + bytes(99), "It is a picture", 3),
    "units below the names": Nasty(
        plain.replace(b"a,b,y\n", b"a,b,y\nm,,s\n"), "Row 1 holds words where all", predict=6
    ),
    "no names": Nasty(plain.split(b"\n", 1)[1], "only numbers", 3),
    # ------------------------------------------------------------------------ names of columns
    "PATIENT_ID": Nasty(patients, "--numeric 'PATIENT_ID'"),
    "PA first": Nasty(plain.replace(b"a,b", b"PATIENTS,b"), "2 from 2 columns"),
    "PK first": Nasty(plain.replace(b"a,b", b"PK,b"), "2 from 2 columns"),
    "AR first": Nasty(plain.replace(b"a,b", b"AREA,b"), "2 from 2 columns"),
    "index of pandas": Nasty(frame().to_csv().encode(), "Unnamed: 0: it looks like"),
    "line break in a name": Nasty(plain.replace(b"a,b", b'"a\n(m)",b'), "2 from 2 columns"),
    "snowman": Nasty(plain.replace(b"a,b", "größe ☃,b".encode()), "2 from 2 columns"),
    "comma in a name": Nasty(
        csv().replace(b"a,b", b'"a,b",c'), "a,b: as asked", learning=("--drop", "a,b")
    ),
    "target called lower": Nasty(plain.replace(b"b,y", b"b,lower"), number, target="lower"),
    "same name twice": Nasty(plain.replace(b"a,b", b"a,a"), "more than once", 3),
    "name missing": Nasty(plain.replace(b"a,b", b"a,"), "column 2 has no name", 3),
    # ---------------------------------------------------------------------------- kinds of values
    "truth values": Nasty(csv(f=[True, False] * 30), "3 from 3 columns"),
    "truth values and blanks": Nasty(csv(f=[True, False, None] * 20), "missing values filled"),
    "yes and no": Nasty(csv(f=["yes", "no"] * 30), "4 from 3 columns"),
    "percent": Nasty(csv(f=[f"{k}%" for k in range(N)]), "'0%' is 0"),
    "thousands": Nasty(csv(f=[f"{1000 * k:,}" for k in range(N)]), "'1,000' is 1000"),
    "dollars": Nasty(csv(f=[f"${1000 + k:,}" for k in range(N)]), "'$1,000' is 1000"),
    "dollars as words": Nasty(
        csv(f=["$1,000", "$2,000"] * 30), "4 from 3 columns", learning=("--categorical", "f")
    ),
    "thousands with spaces": Nasty(
        csv(f=[f"{1000 * k:,}".replace(",", " ") for k in range(N)]), "'1 000' is 1000"
    ),
    "thousands with apostrophes": Nasty(
        csv(f=[f"{1000 * k:,}".replace(",", "'") for k in range(N)]), "1'000\" is 1000"
    ),
    "minus of a text processor": Nasty(
        csv(f=[("\u2212" if k % 2 else "") + str(k) for k in range(N)]), "3 from 3 columns"
    ),
    "percent and shares": Nasty(
        csv(f=[f"{k}%" if k % 2 else f"0.{k:02d}" for k in range(N)]), "f: it holds percentages and"
    ),
    "percent and nothing": Nasty(
        csv(f=[f"{k}%" if k % 5 else "0" for k in range(N)]), "3 from 3 columns"
    ),
    "two currencies": Nasty(
        csv(f=[f"${k}" if k % 2 else f"{k} EUR" for k in range(N)]), "currencies (EUR, USD)"
    ),
    "one currency, two ways": Nasty(
        csv(f=[f"{k} €" if k % 2 else f"{k}" for k in range(N)]), "3 from 3 columns"
    ),
    "euros with a decimal comma": Nasty(
        csv(f=[f"1.{k:03d},50 €" for k in range(N)]), "('1.000,50 €' in row 1): give --decimal", 4
    ),
    "euros with a decimal comma, said": Nasty(
        frame(f=[f"1.{k:03d},50 €" for k in range(N)])
        .to_csv(index=False, sep=";", decimal=",")
        .encode(),
        "is 1000.5 ",
        reading=("--decimal", ","),
    ),
    "lengths with a decimal comma, said": Nasty(
        frame(f=[f"{k},5 cm" for k in range(N)]).to_csv(index=False, sep=";", decimal=",").encode(),
        "'0.5 cm' is 0.5",
        reading=("--decimal", ","),
    ),
    "thousands of India": Nasty(csv(f=[f"{k + 1},23,456" for k in range(N)]), "is 123456 "),
    "brackets": Nasty(csv(f=[f"({k})" if k % 2 else k for k in range(N)]), "'(1)' is -1 "),
    "minus behind": Nasty(csv(f=[f"{k}-" if k % 2 else k for k in range(N)]), "'1-' is -1 "),
    "cells of spaces": Nasty(
        csv(f=["   " if k % 5 == 0 else k for k in range(N)]), "missing values filled"
    ),
    "cells of hard spaces": Nasty(
        csv(f=["\u00a0" if k % 5 == 0 else k for k in range(N)]), "missing values filled"
    ),
    "said to be numbers": Nasty(
        csv(f=["u", "v"] * 30), "'f' holds no numbers", 4, learning=("--numeric", "f")
    ),
    "units": Nasty(csv(f=[f"{k} cm" for k in range(N)]), "'0 cm' is 0"),
    "units without a space": Nasty(csv(f=[f"{k % 7}kg" for k in range(N)]), "'0kg' is 0"),
    "degrees": Nasty(csv(f=[f"{k}\u00b0" for k in range(N)]), "was read as numbers"),
    "several units": Nasty(
        csv(f=[f"{k} {'cm' if k % 2 else 'm'}" for k in range(N)]), "in different units (cm, m)"
    ),
    "units as words": Nasty(
        csv(f=[f"{k % 3} cm" for k in range(N)]), "5 from 3", learning=("--categorical", "f")
    ),
    "comma and power": Nasty(csv(f=[f"1,{k:02d}e3" for k in range(N)]), "--decimal ','", 4),
    "long integers": Nasty(
        csv(f=[10**18 + k for k in range(N)]), "such as 1000000000000000000, differ by less than"
    ),
    "stand-in": Nasty(csv(f=[-999 if k % 5 == 0 else k for k in range(N)]), "is -999 in 12 rows"),
    "stand-in, said": Nasty(
        csv(f=[-999 if k % 5 == 0 else k for k in range(N)]), "f (", reading=("--missing=-999",)
    ),
    "capitals": Nasty(csv(f=["Yes", "yes", "no"] * 20), "such as 'Yes' and 'yes'; they were"),
    "less than": Nasty(csv(f=["<0.1"] * 3 + [f"{k}" for k in range(57)]), "'<0.1' in row 1.", 4),
    "many question marks": Nasty(
        csv(f=["?" if k % 3 else k for k in range(N)]),
        "If '?' means missing, give --missing '?'",
        4,
    ),
    "the target once more": Nasty(
        frame().assign(z=lambda t: 2 * t.y + 1).to_csv(index=False).encode(),
        "Column 'z' determines the target exactly",
    ),
    "the target with a little noise": Nasty(
        frame().assign(z=lambda t: t.y + 1e-4 * np.arange(N)).to_csv(index=False).encode(),
        "Column 'z' determines the target almost exactly",
    ),
    "copies of rows": Nasty(plain + plain.split(b"\n", 1)[1], "60 of 120 rows are exact copies"),
    "one that is not like the others": Nasty(csv(f=["x"] * 59 + ["z"]), "Read 60 rows"),
    "one value and blanks": Nasty(csv(f=["x", None] * 30), "4 from 3 columns"),
    "a long column of towns": Nasty(
        csv(f=["Ulm"] * 25 + ["Bonn"] * 20 + [f"w{k}" for k in range(15)]),
        "the 2 most common have a feature each",
        learning=("--max-categories", "10"),
    ),
    "powers": Nasty(csv(f=[f"{k}e3" for k in range(N)]), "3 from 3 columns"),
    "huge": Nasty(csv(f=1e300 * np.sin(np.arange(N))), "3 from 3 columns"),
    "tiny": Nasty(csv(f=1e-300 * np.sin(np.arange(N))), "3 from 3 columns"),
    "far from zero": Nasty(csv(f=1e9 + np.sin(np.arange(N))), "3 from 3 columns"),
    "infinite": Nasty(csv(f=["inf", *["1"] * (N - 1)]), "an infinite value in row 1;", 4),
    "zip codes": Nasty(
        csv(f=[f"0{k % 9}123" for k in range(N)]), "11 from 3", learning=("--categorical", "f")
    ),
    "versions": Nasty(csv(f=["1.2.3", "1.10.2"] * 30), "4 from 3 columns"),
    "slip": Nasty(csv(f=SLIP), "except for 'x' in row 60.", 4),
    "slips in two columns": Nasty(csv(f=SLIP, g=SLIP), "2 columns need a decision.", 4),
    "slip, dropped": Nasty(csv(f=SLIP, g=SLIP), "g: as asked", learning=("--drop", "f,g")),
    "question marks": Nasty(csv(f=["?", *map(str, range(N - 1))]), "give --missing '?'", 4),
    "question marks, said": Nasty(
        csv(f=["?", "?", *map(str, range(N - 2))]), "f (2)", reading=("--missing", "?")
    ),
    "half words": Nasty(csv(f=["?", "1.5"] * 30), "4 from 3 columns"),
    # ------------------------------------------------------------------------------------- dates
    "dates": Nasty(csv(d=DAYS.strftime("%Y-%m-%d")), "5 from 3 columns"),
    "german dates": Nasty(csv(d=DAYS.strftime("%d.%m.%Y")), "5 from 3 columns"),
    "american dates": Nasty(csv(d=DAYS.strftime("%m/%d/%Y")), "5 from 3 columns"),
    "unclear dates": Nasty(csv(d=["1/2/2020", "2/3/2021"] * 30), "read as month/day/year"),
    "dates and times": Nasty(
        csv(d=pandas.date_range("2020-01-01", periods=N, freq="37h")), "6 from 3 columns"
    ),
    "dates with holes": Nasty(
        csv(d=["2020-01-01", None, "2021-05-02"] * 20), "missing values filled"
    ),
    "one date": Nasty(csv(d="2020-05-17"), "d: every row has the same value"),
    "no such date": Nasty(csv(d=["2020-02-01"] * 59 + ["2020-02-31"]), "'2020-02-31' in row 60", 4),
    "days as numbers": Nasty(
        csv(d=DAYS.strftime("%Y%m%d")), "20200101 is 2020-01-01 (--numeric 'd'"
    ),
    "days as numbers, said": Nasty(
        csv(d=DAYS.strftime("%Y%m%d")), "3 from 3 columns", learning=("--numeric", "d")
    ),
    "dates in several ways": Nasty(
        csv(d=["2020-01-05", "05/02/2020"] * 30), "month/day/year ('05/02/2020')"
    ),
    "months": Nasty(csv(d=MONTHS.strftime("%Y-%m")), "5 from 3 columns"),
    "months in words": Nasty(csv(d=MONTHS.strftime("%b-%y")), "5 from 3 columns"),
    "months first": Nasty(csv(d=MONTHS.strftime("%m/%Y")), "5 from 3 columns"),
    "quarters": Nasty(csv(d=[f"{2010 + k // 4}-Q{k % 4 + 1}" for k in range(N)]), "5 from 3"),
    "weeks": Nasty(csv(d=[f"2020-W{k % 52 + 1:02d}" for k in range(N)]), "5 from 3 columns"),
    "seasons": Nasty(csv(d=[f"{2001 + k % 9}-{k % 9 + 2:02d}" for k in range(N)]), "11 from 3"),
    "time zones": Nasty(
        csv(d=["2020-01-05T10:00+01:00", "2020-07-05T10:00-05:00"] * 30), "3 columns"
    ),
    "the end of all days": Nasty(
        csv(d=["9999-12-31"] * 3 + [*DAYS.strftime("%Y-%m-%d")][3:]),
        "far from its other dates (2020-01-04 to 2020-02-29)" if FAR else "--missing '9999-12-31'",
        0 if FAR else 4,
    ),
    "times of two halves": Nasty(csv(d=[f"{k % 12 + 1}:30 PM" for k in range(N)]), "3 from 3"),
    "times": Nasty(csv(d=[f"{k % 24}:30" for k in range(N)]), "3 from 3 columns"),
    "durations": Nasty(csv(d=[f"{k + 20}:30" for k in range(N)]), "3 from 3 columns"),
    # ------------------------------------------------------------------------- nothing to learn
    "empty column": Nasty(csv(e=None), "e: it is empty"),
    "constant column": Nasty(csv(e=3), "e: every row has the same value"),
    "constant with holes": Nasty(csv(e=[3, None] * 30), "4 from 3 columns"),
    "nearly empty": Nasty(csv(e=[1.0] * 3 + [None] * 57), "of the rows to learn from have a value"),
    "identifiers": Nasty(csv(u=[f"{k:08x}-aa" for k in range(N)]), "u: it looks like an ident"),
    "id": Nasty(csv(id=range(N)), "id: it looks like an identifier"),
    "id, kept": Nasty(csv(id=range(N)), "3 from 3 columns", learning=("--numeric", "id")),
    "uuids": Nasty(csv(u=UUIDS), "u: it looks like an identifier: 60 different words"),
    "free text": Nasty(csv(u=STORY), "u: it holds free text"),
    "many words": Nasty(csv(u=WORDS), "u: it holds 55 different words"),
    "many words, allowed": Nasty(csv(u=WORDS), "from 3", learning=("--max-categories", "60")),
    "line breaks in cells": Nasty(csv(u=["two\nlines", "one"] * 30), "4 from 3 columns"),
    "only constants": Nasty(csv(a=1, b=2), "No column is left", 4),
    "only the target": Nasty(
        frame()[["y"]].to_csv(index=False).encode(), "no column other than", 4
    ),
    # ----------------------------------------------------------------------------------- targets
    "labels 0, 1, 2": Nasty(csv(y=np.arange(N) % 3), "only 3 different values (0, 1, 2)"),
    "labels, said": Nasty(csv(y=np.arange(N) % 3), "0, 1, 2", learning=("--task", classes)),
    "labels 0, 1": Nasty(csv(y=np.arange(N) % 2), "the target has two different values"),
    "words": Nasty(csv(y=["lo", "mid", "hi"] * 20), "hi, lo, mid"),
    "rare class": Nasty(csv(y=["x"] * 59 + ["z"]), "has a single row", 4),
    "truth values to predict": Nasty(csv(y=[True, False, None] * 20), "False, True"),
    "dollars to predict": Nasty(csv(y=[f"${1000 + 37 * k:,}" for k in range(N)]), "is 1000"),
    "units to predict": Nasty(csv(y=[f"{k + 20} kg" for k in range(N)]), "'20 kg' is 20"),
    "stars to predict": Nasty(csv(y=[f"{k % 5} stars" for k in range(N)]), "0 stars, 1 stars"),
    "percent to predict": Nasty(csv(y=[f"{k}%" for k in range(N)]), "'0%' is 0"),
    "capitals to predict": Nasty(
        csv(y=["Cat", "cat", "dog"] * 20), "such as 'Cat' and 'cat'; they"
    ),
    "two of a class": Nasty(csv(y=[1] * 2 + [0] * 58), "class '1' has 2 rows, and 0 of them"),
    "percent and shares to predict": Nasty(
        csv(y=[f"{k}%" if k % 2 else f"0.{k:02d}" for k in range(N)]), "holds percentages and", 4
    ),
    "a class of question marks": Nasty(csv(y=["+", "-", "?"] * 20), "'y' is '?' in 20 rows, and"),
    "stand-in to predict": Nasty(
        csv(y=[-999 if k % 5 == 0 else k for k in range(N)]), "The target 'y' is -999 in 12 rows"
    ),
    "unknown to predict": Nasty(
        csv(y=["unknown" if k % 9 == 0 else k for k in range(N)]), "give --missing 'unknown'", 4
    ),
    "dates to predict": Nasty(csv(y=DAYS.strftime("%Y-%m-%d")), "holds dates or times", 4),
    "holes": Nasty(csv(y=np.where(np.arange(N) % 4, np.arange(N), np.nan)), "15 without"),
    "slip to predict": Nasty(csv(y=SLIP), "'x' in row 60.", 4),
    "infinite to predict": Nasty(csv(y=[*range(N - 1), np.inf]), "infinite value in row 60", 4),
    "huge to predict": Nasty(csv(y=1e200 * np.arange(N)), "as large as", 4),
    "constant to predict": Nasty(csv(y=3), "3 in every row", 4),
}
