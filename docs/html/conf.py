"""Sphinx's configuration for scripts/docs, which says where things are by the environment."""
import os
import re
import sys

from pygments.lexers.special import TextLexer

project = "tctune"
copyright = "the authors of tctune; Apache-2.0"
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
breathe_projects = {"tctune": os.environ["DOCS_XML"]}
breathe_default_project = "tctune"
breathe_domain_by_extension = {"h": "c"}
c_id_attributes = ["TCTUNE_API"]
myst_heading_anchors = 4
myst_enable_extensions = []
smartquotes = False
default_role = "literal"
html_theme = "alabaster"
html_theme_options = {"page_width": "1200px", "sidebar_width": "260px", "description": "an auto-scheduler for tensor programs"}
html_show_sphinx = False
html_copy_source = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
highlight_language = "none"

sys.path.insert(0, os.environ["DOCS_PYTHON"])


def plain(app, what, name, obj, options, lines):
    """Docstrings are plain sentences: indented lines are code, and only backticks mean something."""
    out, code = [], False
    for line in lines:
        indented = line.startswith("    ") or (line.startswith(">>> "))
        if indented and not code:
            out += ["", "::", ""]
        elif code and line.strip() and not indented:
            out.append("")
        code = indented or (code and not line.strip())
        if code:
            out.append("    " + line)
        else:
            out.append("".join(p if p.startswith("`") else re.sub(r"([*|_\\])", r"\\\1", p) for p in re.split(r"(`[^`]*`)", line)))
    lines[:] = out


def setup(app):
    for language in ("te", "sched"):
        app.add_lexer(language, TextLexer)
    app.connect("autodoc-process-docstring", plain)
