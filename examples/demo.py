"""From a file of data to a model, predictions and a report, by the command line alone.

Run it with ``make demo``, or with ``python examples/demo.py [output folder]`` where
``greedygp[cli]`` is installed. The data are scikit-learn's diabetes set: ten measurements of 442
patients, and how their disease progressed in a year.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

COMMANDS = (
    "greedygp datasets diabetes --out diabetes.csv",
    "greedygp fit diabetes.csv --target target --out model.skops --report report.html",
    "greedygp predict model.skops diabetes.csv --interval 0.95 --out predictions.csv",
    "greedygp info model.skops",
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for command in COMMANDS:
        print(f"\n$ {command}", flush=True)
        arguments = shlex.split(command)[1:]
        subprocess.run([sys.executable, "-m", "greedygp", *arguments], cwd=folder, check=True)
    print(f"\nEverything is in {folder}/; open {folder / 'report.html'} in a browser.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))
