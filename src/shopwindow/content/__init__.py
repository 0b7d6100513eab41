"""YAML → checked documents, in rooms that import from those above them only.

- `reading`: a file → its text, its value, and where values stand in it
- `documents`: what documents are, what they are merged from, when each is live
- `schemas`: a value and its schema → what is wrong, in an editor's words
- `rules`: what no schema can state
- `declared`: kinds that a content folder declares for itself
- `check`: a content folder → its checked documents, or all that is wrong with them
- `lookup`: who sets a value, who names a document, what happens when
- `editing`: a problem or a wish → the few characters that change

Below all of them stands `kinds`: a Kind says everything about a sort of document.
"""
