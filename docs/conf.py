"""Sphinx configuration. ``make docs`` builds without network access and without warnings."""

from __future__ import annotations

import os
import re

from greedygp import __version__

os.environ.setdefault("MPLBACKEND", "Agg")

project = "greedygp"
author = "greedygp developers"
copyright = "greedygp developers"
release = __version__
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax beside the pages, not from a CDN
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "auto_examples/**.ipynb", "Thumbs.db", ".DS_Store"]
templates_path = ["_templates"]
default_role = "literal"  # `symbol` in a docstring is code

# MyST
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# API pages
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # `fit()`, not `SparseGPRegressor.fit()`
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(__init__|demo)\.py",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "plot_gallery": True,
    "abort_on_example_error": True,
}

# HTML
html_theme = "pydata_sphinx_theme"
html_title = f"greedygp {release}"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def without_foreign_labels(app, what, name, obj, options, lines):
    """Keep the words of scikit-learn's references to pages of its own, which are not here."""
    if getattr(obj, "__module__", "").startswith("sklearn"):
        text = "\n".join(lines)
        text = re.sub(r":ref:`([^`<]*?)\s*<[^>]*>`", r"\1", text)
        text = re.sub(r":ref:`([^`]*)`", r"\1", text)
        lines[:] = text.split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", without_foreign_labels, priority=900)
