"""A repository of content: beginning one, and what is written into it for editors."""

from pathlib import Path

from shopwindow.content.check.memory import Memory
from shopwindow.editor import vscode
from shopwindow.editor.files import write_schemas
from shopwindow.editor.schemas import associations
from shopwindow.interface.declaring.interface import Interface
from shopwindow.library.opening import ContentAtFault, declared, opened
from shopwindow.problems import (
    Misuse,
    Problem,
    sentence,
)
from shopwindow.starter import begin, document
from shopwindow.starter.begin import Beginning


def start(interface: Interface, folder: Path, beginning: Beginning) -> list[str]:
    """Write the files of a new content repository below ``folder``; return their paths
    in it.

    Raises Misuse where something stands in their way, where ``beginning`` names what
    there is not, and where the content to start from is none of this interface: it is
    checked first.
    """
    source = begin.content_of(beginning.start)
    try:
        content = opened(interface, source)
    except ContentAtFault as fault:
        problem = sentence(fault.checked.problems[0])
        raise Misuse(
            "from", f"{beginning.start} is no content of this interface: {problem}"
        ) from None
    files = begin.files_of(beginning, content.interface, content.shelf.schemas)
    begin.write(folder, files)
    return list(files)


def new(
    interface: Interface,
    content: Path,
    kind: str,
    name: str | None = None,
    *,
    memory: Memory | None = None,
) -> Path:
    """Write a commented skeleton of a document into a file of its own; return its path.

    Its id is the highest of its ``kind`` and one more, and ``name`` is what people call
    it. Where ids are text, or name another document, ``name`` is the id. A kind may be
    one of the folder's collections. ``memory`` is as for `check`. Raises Misuse for a
    kind that does not exist, and for an id that is missing or taken; Failure where a
    file of the same name is there.
    """
    prepared = declared(interface, content)
    has_faults = bool(prepared.problems or prepared.schemas.problems)
    named = document.kind_named(prepared.interface, kind, has_faults=has_faults)
    there = document.existing(content, prepared, memory or Memory())
    begun = document.new_document(prepared.interface, there, named, name)
    return document.write(content, begun)


def editor_schemas(
    interface: Interface, content: Path, editor: str
) -> tuple[list[Path], list[Problem]]:
    """Write schemas for an editor's YAML language server; return the files, or the
    problems.

    ``editor`` is "vscode", for schemas and settings below .vscode beside the content
    folder, or a folder for the schemas alone. With them stands associations.json, the
    setting `yaml.schemas`. The problems are those of `collections.yaml` and of the
    folder's own schemas: where there are any, nothing is written. Raises Misuse where
    there is no such content folder, and Failure where settings.json is not plain JSON.
    """
    prepared = declared(interface, content)
    if problems := [*prepared.schemas.problems, *prepared.problems]:
        return [], problems
    whole = content.absolute()
    root, name = whole.parent, whole.name
    if editor == "vscode":
        files = vscode.files(prepared.interface, prepared.schemas, name)
        return vscode.write(root, files), []
    listed = associations(prepared.interface, prepared.schemas)
    return write_schemas(Path(editor), listed, root, name), []
