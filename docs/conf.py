"""How Sphinx builds these pages: `sphinx-build -W docs build/docs`.

Nothing is loaded from elsewhere when the pages are built or read. A warning, such as a
link that leads nowhere, is an error.
"""

from importlib.metadata import version as installed_version

project = "shopwindow"
copyright = "the shopwindow developers"  # the name that Sphinx reads it by
version = release = installed_version("shopwindow")

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns: list[str] = []

# Links to headings are written as code hosts spell them: `page.md#a-heading`.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]

# A mistake that editors/rules.md shows is no YAML, which is the point of it.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "shopwindow"
html_static_path: list[str] = []
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"footer_icons": [], "source_repository": ""}
pygments_style = "friendly"
pygments_dark_style = "monokai"
