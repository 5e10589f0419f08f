"""`greedygp info`: what a model file says of itself."""

from __future__ import annotations

from typing import Any

import click

from greedygp.cli.fit import summary_lines
from greedygp.cli.options import common
from greedygp.cli.screen import Screen

__all__ = ["info"]

VERSIONS = ("greedygp", "python", "numpy", "scipy", "scikit-learn")


@click.command(
    short_help="Tell what is in a model file.",
    epilog="\b\nExample:\n  greedygp info model.skops --json",
)
@click.argument("model")
@common
def info(screen: Screen, model: str) -> None:
    """Tell what is in the file MODEL; only its header is read."""
    from greedygp.persistence import ModelFileError, read_header

    try:
        header = read_header(model)
    except FileNotFoundError as error:
        raise ModelFileError(str(error)) from error
    try:
        lines = _lines(header)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{model} is damaged: its header is not what it should be.") from error
    screen.facts(model, lines)
    screen.result(header)


def _lines(header: dict[str, Any]) -> list[tuple[str, str]]:
    facts = header.get("facts")
    lines = [
        ("file", f"format {header['format']}, written {header.get('written')}"),
        ("with", ", ".join(f"{name} {header.get(name)}" for name in VERSIONS)),
    ]
    if facts is None:
        return [*lines, ("model", str(header.get("model")))]
    lines += [("model", str(facts["model"])), ("target", str(facts["target"]))]
    lines.append(("data", str(facts["data"]["name"]) if "data" in facts else "-"))
    lines.append(("columns", ", ".join(str(column["name"]) for column in facts["columns"])))
    lines += summary_lines(facts)
    return [*lines, ("made by", str(facts["command"]))] if "command" in facts else lines
