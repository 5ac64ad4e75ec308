"""Settings of the site, for Sphinx (`make docs`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import supertopic

project = "supertopic"
author = "The supertopic authors"
copyright = "2026, the supertopic authors"  # Sphinx reads this name
version = release = supertopic.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "blocks"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
autodoc_default_options = {"inherited-members": False}
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "supertopic"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "show_prev_next": True}
html_static_path: list[str] = []
html_show_sourcelink = False
