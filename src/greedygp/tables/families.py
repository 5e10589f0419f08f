"""The families of models that greedygp offers, found by their names in `greedygp.__all__`."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from functools import cache
from typing import Any

import greedygp
from greedygp.tables.problems import DataProblem, did_you_mean

__all__ = [
    "default_family",
    "families",
    "family_named",
    "kernel_from",
    "name_columns",
    "make",
    "parsed_settings",
    "short_name",
    "taken_model",
]

# What is taken where the user names none, in this order.
PREFERRED = ("AutoGPRegressor", "SparseGPRegressor", "GPRegressor", "SparseGPClassifier")


@cache
def families(task: str) -> dict[str, type]:
    """Return the estimator classes for a task by name.

    Parameters
    ----------
    task : {"regression", "classification"}

    Examples
    --------
    >>> from greedygp.tables.families import families
    >>> "SparseGPRegressor" in families("regression")
    True
    """
    from sklearn.base import BaseEstimator, is_classifier, is_regressor

    fits = is_classifier if task == "classification" else is_regressor
    found = {}
    for name in greedygp.__all__:
        kind = getattr(greedygp, name)
        if isinstance(kind, type) and issubclass(kind, BaseEstimator) and fits(kind()):
            found[name] = kind
    return found


def default_family(task: str, settings: Iterable[str] = ()) -> type:
    """Return the class that is used for a task unless another is named.

    It is the first of those that have the most of the parameters of `settings`.
    """
    known = families(task)
    usual = [known[name] for name in PREFERRED if name in known]
    if not usual:
        raise DataProblem(
            f"This version of greedygp has no model for {task}; numbers can be learnt with "
            "--task regression."
        )
    return max(usual, key=lambda kind: len(_parameters(kind).intersection(settings)))


def _parameters(kind: type) -> set[str]:
    return set(kind().get_params(deep=False))  # type: ignore[attr-defined]


def taken_model(estimator: Any) -> tuple[Any, str | None]:
    """Return the fitted model, and why it was taken where an estimator chose among several."""
    return getattr(estimator, "model_", estimator), getattr(estimator, "reason_", None)


def short_name(name: str) -> str:
    """Return the name without what the task tells anyway: `SparseGPRegressor` -> `sparsegp`."""
    return name.removesuffix("Regressor").removesuffix("Classifier").casefold()


def family_named(name: str, task: str) -> type:
    """Return the class of a task by its full or short name, in any case."""
    known = families(task)
    for full, kind in known.items():
        if name.casefold() in (full.casefold(), short_name(full)):
            return kind
    near = difflib.get_close_matches(name.casefold(), map(short_name, known), n=1, cutoff=0.6)
    hint = did_you_mean(name, near or list(known)).replace("its columns are", "there are")
    raise DataProblem(f"There is no model {name!r} for {task}; {hint}")


def make(kind: type, settings: dict[str, Any], offered: dict[str, Any]) -> Any:
    """Return an estimator of a class.

    Parameters
    ----------
    kind : estimator class
    settings : dict
        Parameters that it must have.
    offered : dict
        Parameters that are set where it has them and the value is not None.
    """
    known = _parameters(kind)
    for name in settings:
        if name not in known:
            hint = did_you_mean(name, sorted(known)).replace("its columns", "its parameters")
            raise DataProblem(f"{kind.__name__} has no parameter {name!r}; {hint}")
    fitting = {key: value for key, value in offered.items() if key in known and value is not None}
    return kind(**(fitting | settings))


def parsed_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Return `name=value` pairs as a dictionary; values are Python literals, else text.

    Examples
    --------
    >>> from greedygp.tables.families import parsed_settings
    >>> parsed_settings(["criterion=nlgpp", "max_basis=50", "patience=None"])
    {'criterion': 'nlgpp', 'max_basis': 50, 'patience': None}
    >>> parsed_settings(["kernel=Matern(nu=1.5) + Linear()"])["kernel"]
    Matern(nu=1.5, variance=1.0, length_scale=1.0) + Linear(variance=1.0)
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign or not name.strip().isidentifier():
            raise DataProblem(f"A setting is written name=value; got {pair!r}.")
        name, text = name.strip(), text.strip()
        try:
            settings[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            settings[name] = kernel_from(text) if name == "kernel" else text
    return settings


def name_columns(estimator: Any, names: list[str]) -> None:
    """Tell a kernel that looks at columns by name (`active_dims`) what the features are called."""
    kernel = getattr(estimator, "kernel", None)
    if kernel is not None and hasattr(kernel, "for_inputs"):
        estimator.set_params(kernel=kernel.for_inputs(len(names), names))


def kernel_from(text: str) -> Any:
    """Return the kernel that an expression of names, numbers, `+` and `*` describes.

    Nothing is evaluated that is not a kernel of greedygp or a number.
    """
    from greedygp import kernels

    names = (
        "Gaussian",
        "Matern",
        "RationalQuadratic",
        "Periodic",
        "Categorical",
        "Linear",
        "Constant",
        "Additive",
    )
    known = {name: getattr(kernels, name) for name in names}

    def value(node: ast.expr) -> Any:
        match node:
            case ast.BinOp(left, ast.Add(), right):
                return value(left) + value(right)
            case ast.BinOp(left, ast.Mult(), right):
                return value(left) * value(right)
            case ast.Call(ast.Name(name), arguments, options) if name in known:
                named = {str(option.arg): value(option.value) for option in options}
                return known[name](*map(value, arguments), **named)
            case ast.Name(name) if name in known:
                return known[name]()
        try:
            return ast.literal_eval(node)
        except ValueError as error:
            raise ValueError(f"{ast.unparse(node)} is not known here") from error

    try:
        return value(ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError, TypeError) as error:
        raise DataProblem(
            f"{text!r} is not a kernel ({error}); write for instance kernel=Matern(nu=1.5), or a "
            f"sum or product of {', '.join(known)}."
        ) from error
