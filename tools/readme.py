"""The README as package indexes show it: its links and pictures with whole addresses.

In the repository links are relative, so that they work in a checkout. The build (see
`tool.hatch.metadata.hooks.custom` in `pyproject.toml`) makes them absolute, by the address of the
source in `project.urls`, the one place that has it.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def with_whole_addresses(text, source):
    """Return Markdown whose relative links lead to the source, and pictures to their files."""
    raw = source.replace("https://github.com/", "https://raw.githubusercontent.com/") + "/main/"

    def whole(match):
        picture, words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        return f"{picture}[{words}]({raw if picture else source + '/blob/main/'}{target})"

    return LINK.sub(whole, text)


class ReadmeHook(MetadataHookInterface):
    """What hatchling calls for the long description."""

    PLUGIN_NAME = "custom"

    def update(self, metadata):
        """Set the field `readme`; the metadata are changed in place."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = with_whole_addresses(text, metadata["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
