"""Foreign feeds become documents of the catalog: DuckDB runs one SQL file over them.

Each feed is a table, and the rows of the file's last query are the documents. Readers
that guess lose data without an error: DuckDB reads a table with one row too wide as
empty, leaves out a JSON key that its sample lacks, and takes a list that breaks off
behind a comma for whole. So nothing is guessed here. JSON goes through the reader of
our own feeds, and its columns follow from all rows; the columns of a table are those
of its first line, and hold text. When all feeds are read, DuckDB is locked, so that the
SQL reaches no file, no network and no extension.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import orjson

from shopwindow.catalog.kinds import PRODUCT
from shopwindow.content.check.records import FeedBatch, FeedLines
from shopwindow.content.documents.characters import not_xml
from shopwindow.content.documents.finding import shown
from shopwindow.content.kinds import Kind
from shopwindow.content.reading import feed, yaml
from shopwindow.content.reading.files import MAX_LINE
from shopwindow.content.reading.listing import COMPRESSED, Source
from shopwindow.content.reading.yaml import Json, Malformed
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Failure, Misuse, sentence

LINES = (".jsonl", *COMPRESSED, ".ndjson")
TABLES = (".csv", ".tsv")
ENDINGS = (*LINES, ".json", *TABLES)

DELIMITERS = ",;|\t"
"""Of these, the one that the first line of a table has most often separates its cells."""

MAX_WHOLE = 512 * 1024 * 1024
"""Bytes of a file that is one value. It takes up to ten times as much memory; larger
feeds are JSON lines, which are read one by one.
"""

MAX_ROW = 64 * 1024 * 1024
"""Bytes of a row in JSON: a whole export as one object, whose query unnests its rows.
DuckDB takes up to eight times as much memory for it.
"""

MEMORY, THREADS = "1GB", 2
"""What DuckDB may use. Rows that need more memory go to the disk: sorting 768 MB under a
limit of 200 took 300. Each thread has buffers of its own for a row.
"""

_END = re.compile(r";\s*(--[^\n]*\s*)*\Z")
"""What ends a query, and cannot stand in one that is part of another."""

_BEFORE_QUERY = Path(__file__).with_suffix(".sql")
"""What locks DuckDB once all feeds are read, and the macros of queries."""


def kind_of(sql: Path, kinds: Iterable[Kind]) -> Kind:
    """Return the kind of document that an SQL file makes, which its name begins with.

    As in the content folder, `products.sql` makes products, and so does
    `products-shoes.sql`. Raises Misuse.
    """
    names = {Path(kind.folder).name: kind for kind in kinds if kind.streamed}
    for name, kind in names.items():
        if re.fullmatch(rf"{re.escape(name)}(-.*)?\.sql", sql.name):
            return kind
    allowed = ", ".join(f"{name}.sql" for name in sorted(names))
    message = f"{sql}: its name says no kind of document; allowed: {allowed}"
    raise Misuse("", f"{message}, or a name such as products-shoes.sql")


def documents(sql: Path, feeds: Sequence[Path]) -> Iterator[Json]:
    """Yield the documents that an SQL file makes of feeds, in the order of its query.

    A feed is the table that is called as its file, up to the first dot. What is NULL
    or empty in a row is left out of its document. Raises Failure.
    """
    with (
        TemporaryDirectory(prefix="shopwindow-import-") as folder,
        duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "threads": THREADS,
                "temp_directory": folder,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
            }
        ) as database,
    ):
        for path in feeds:
            try:
                _load(database, path, Path(folder))
            except duckdb.Error as error:
                raise _failure(path, error) from None
        database.execute(_BEFORE_QUERY.read_text(encoding="utf-8"))
        try:
            yield from _rows(database, sql)
        except duckdb.Error as error:
            raise _failure(sql, error) from None


def faults(schemas: Schemas, kind: Kind, document: Json) -> list[str]:
    """Return what its kind's schema finds in a document, and characters that XML lacks."""
    findings = [*schemas.findings(kind.schema, document), *not_xml(document)]
    return [sentence(one.problem("", one.pointer, None)) for one in findings]


# -- the query -------------------------------------------------------------------------


def _rows(database: duckdb.DuckDBPyConnection, sql: Path) -> Iterator[Json]:
    """Yield the documents of a query. Raises Failure, and duckdb.Error."""
    try:
        text = yaml.decode(sql.read_bytes())
    except Malformed as fault:
        raise Failure(f"{sql}:{fault.place.line}: {fault.found}") from None
    statements = database.extract_statements(text)
    if not statements or statements[-1].type != duckdb.StatementType.SELECT:
        raise Failure(f"{sql}: no query; its last statement is a SELECT or WITH")
    lines = 0
    for statement in statements[:-1]:
        # DuckDB counts lines from the beginning of what it is to execute.
        database.execute("\n" * lines + statement.query)
        lines += statement.query.count("\n")
    query = "\n" * lines + _END.sub("", statements[-1].query)
    result = database.execute(
        f'SELECT to_json("a row")::VARCHAR FROM ({query}\n) AS "a row"'
    )
    for number, (row,) in enumerate(iter(result.fetchone, None), 1):
        try:
            yield _without_empty(orjson.loads(row))
        except orjson.JSONDecodeError:
            found = "a number that JSON lacks, such as NaN or infinity"
            raise Failure(f"{sql}: row {number}: {found}") from None


def _without_empty(value: Json) -> Json:
    """Return a value without the members that say nothing, and 4 for 4.0: a column of
    SQL has one type for all rows.
    """
    if isinstance(value, dict):
        members = ((key, _without_empty(item)) for key, item in value.items())
        return {key: item for key, item in members if not _is_empty(item)}
    if isinstance(value, list):
        return [item for item in map(_without_empty, value) if not _is_empty(item)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_empty(value: Json) -> bool:
    return value is None or value in ("", [], {})


def _failure(path: Path, error: duckdb.Error) -> Failure:
    """Return DuckDB's error as a sentence, with the line of the file that it names."""
    text = str(error)
    place = re.search(r"(?:^LINE |CSV Error on Line: )(\d+)", text, re.MULTILINE)
    where = f"{path}:{place[1]}" if place else str(path)
    words = re.sub(r"^.*CSV Error on Line: \d+\s", "", text)
    words = " ".join(re.split(r"\n+(?:LINE |Possible )", words)[0].split())
    if isinstance(error, duckdb.PermissionException):
        words += "; SQL reads the tables of the feeds that are named, and nothing else"
    if "Table with name" in words:
        words += "; each feed is a table, called as its file is, up to the first dot"
    return Failure(f"{where}: {words}")


# -- the feeds -------------------------------------------------------------------------


def _load(database: duckdb.DuckDBPyConnection, path: Path, folder: Path) -> None:
    """Make a table of a feed. Raises Failure, duckdb.Error."""
    if path.name.endswith((".yaml", ".yml")):
        convert = f"yq -o json {path} > {path.with_suffix('.json')}"
        raise Failure(f"{path}: YAML is not read; convert it: {convert}")
    if not path.name.endswith(ENDINGS):
        raise Failure(f"{path}: no feed; its name must end in {', '.join(ENDINGS)}")
    if not path.is_file():
        raise Failure(f"{path}: there is no such file")
    if path.name.endswith(TABLES):
        feed_rows = _table(database, path)
    else:
        feed_rows = _objects(database, path, folder / f"{path.name}.lines")
    feed_rows.create(path.name.partition(".")[0])


def _table(database: duckdb.DuckDBPyConnection, path: Path) -> duckdb.DuckDBPyRelation:
    """Return the rows of a table of cells. Raises Failure, duckdb.Error."""
    with path.open("rb") as file:
        first = file.readline(MAX_LINE)
    try:
        line = yaml.decode(first)
        delimiter = max(DELIMITERS, key=line.count)
        names = next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except (Malformed, csv.Error) as fault:
        found = fault.found if isinstance(fault, Malformed) else fault
        raise Failure(f"{path}:1: {found}") from None
    folded = {name.casefold() for name in names}
    if "" in folded or len(folded) < len(names) or not names:
        found = "a column without a name, or two with one"
        raise Failure(f"{path}:1: {found}; allowed: a name of its own for each column")
    return database.read_csv(
        str(path),
        auto_detect=False,
        columns=dict.fromkeys(names, "VARCHAR"),
        header=True,
        sep=delimiter,
        quotechar='"',
        escapechar='"',
    )


def _objects(
    database: duckdb.DuckDBPyConnection, path: Path, lines: Path
) -> duckdb.DuckDBPyRelation:
    """Return the rows of a feed of objects, which are written to ``lines`` first.

    Their types are those that fit all rows, where DuckDB's own reader would also take
    text for a date or a UUID. Raises Failure, duckdb.Error.
    """
    largest = 0
    with lines.open("wb") as file:
        for row in _rows_of(path):
            line = orjson.dumps(row) + b"\n"
            largest = max(largest, len(line))
            file.write(line)
    if largest > MAX_ROW:
        split = "such as by jq -c '.items[]'"
        found = f"a row of {largest:,} bytes; at most {MAX_ROW:,}"
        raise Failure(f"{path}: {found}; make rows of its parts, {split}")
    options = f"format = 'newline_delimited', maximum_object_size = {MAX_ROW}"
    objects = f"FROM read_json_objects(?, {options})"
    query = f"SELECT json_group_structure(json) {objects}"
    ((structure,),) = database.execute(query, [str(lines)]).fetchall()
    if structure in (None, "{}", '"JSON"'):
        raise Failure(f"{path}: it has no rows, so nothing says what its columns are")
    query = f"SELECT unnest(json_transform(json, ?)) {objects}"
    return database.sql(query, params=[structure, str(lines)])


def _rows_of(path: Path) -> Iterator[Json]:
    """Yield the rows of a feed in JSON: its lines, or what is in its list; any other
    value is one row. Raises Failure.
    """
    rows = _whole(path) if path.suffix == ".json" else _lines(path)
    try:
        for where, row in rows:
            if not isinstance(row, dict):
                raise Failure(f"{where}: {shown(row)} where an object should be")
            yield row
    except Malformed as fault:
        where = f"{path}:{fault.place.line}:{fault.place.column}"
        allowed = f"allowed: {fault.allowed}"
        raise Failure(f"{where}: {fault.found}; {allowed}") from None


def _whole(path: Path) -> Iterator[tuple[str, Json]]:
    """Yield the rows of a file that is one value. Raises Failure, Malformed."""
    size = path.stat().st_size
    if size > MAX_WHOLE:
        found = f"{size:,} bytes; at most {MAX_WHOLE:,}"
        raise Failure(f"{path}: {found}, and larger feeds as {LINES[0]}")
    data = path.read_bytes()
    try:
        orjson.loads(data)
        value = feed.load(data, 1)
    except orjson.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise Failure(f"{where}: no JSON: {error.msg}") from None
    except Malformed:  # of JSON, such as a key twice: `load` sees one line
        feed.locate_text(yaml.decode(data))
        raise
    rows = value if isinstance(value, list) else [value]
    for number, row in enumerate(rows, 1):
        yield f"{path}: row {number}", row


def _lines(path: Path) -> Iterator[tuple[str, Json]]:
    """Yield the rows of a feed that has one on each line. Raises Malformed."""
    stat = path.stat()
    # The kind means nothing to `FeedLines`, and this file is of none.
    source = Source(path.name, PRODUCT, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    for number, line in FeedLines(path.parent, FeedBatch(source)):
        if isinstance(line, Malformed):
            raise line
        yield f"{path}:{number}", feed.load(line, number)
