"""Take docs/_static/report.png: the head of the report that the README's commands write.

Run with ``make figure``. Needs a Chromium: one on the path, or the one that the environment
variable GREEDYGP_CHROMIUM names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = (
    "datasets diabetes --out diabetes.csv",
    "fit diabetes.csv --target target --report report.html",
)
WIDTH, HEIGHT = 1200, 1150


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = [os.environ.get("GREEDYGP_CHROMIUM"), *map(shutil.which, names)]
    return next((path for path in found if path), None)


def main(target: Path) -> int:
    browser = chromium()
    if browser is None:
        print(f"no Chromium here: {target} stays as it is")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            arguments = [sys.executable, "-m", "greedygp", *command.split()]
            subprocess.run(arguments, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
        subprocess.run(
            [
                browser,
                *flags,
                f"--window-size={WIDTH},{HEIGHT}",
                f"--screenshot={target.resolve()}",
                f"file://{folder}/report.html",
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent / "_static" / "report.png"))
