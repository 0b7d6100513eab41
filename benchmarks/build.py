"""shopwindow beside what one would take instead: Hugo, check-jsonschema, sourcemeta's
jsonschema, and a plain copy.

    python -m benchmarks.build [--events N] [--runs N] [--jobs N] [--cpus 0,1] [--work DIR]

Prints a Markdown table of medians, least and most, with each goal. The contenders take
turns; what is dirty is written to the disk before each run; each run writes into a
directory of its own, and nothing is deleted until the end.
"""

import argparse
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks import real_content
from benchmarks.measure import Command, Run, peak_memory, run, spread

SETTLED = 2.2
"""Seconds after which a changed file is no longer always read again."""

SLOW_RUNS = 2
"""How often check-jsonschema is run, which takes long."""

TIMES = {"help": 10, "python": 10}
"""What is so short that it is run more than once a round."""

HUGO_CONFIGURATION = """\
baseURL = "https://www.larkspurvane.example/"
disableKinds = ["home", "section", "taxonomy", "term", "rss", "sitemap", "robotstxt", "404"]
[outputFormats.document]
mediaType = "application/xml"
baseName = "index"
isPlainText = true
[outputs]
page = ["json", "document"]
"""
HUGO_JSON = """\
{{- $p := .Params -}}
{{- dict "id" $p.id "stores" $p.stores "name" $p.name "shortDesc" $p.shortdesc "start" $p.start "finish" $p.finish \
"links" $p.links "attributes" $p.attributes | jsonify -}}
"""
HUGO_XML = """\
<?xml version="1.0" encoding="UTF-8"?>
{{- with .Params -}}
<event><id>{{ .id }}</id>
{{- range $kind, $numbers := .stores }}{{ range $numbers }}<{{ $kind }}>{{ . }}</{{ $kind }}>{{ end }}{{ end -}}
<name>{{ transform.XMLEscape .name }}</name><shortDesc>{{ transform.XMLEscape .shortdesc }}</shortDesc>
{{- /**/ -}}
<start>{{ .start }}</start><finish>{{ .finish }}</finish>
{{- range .links }}<link><href>{{ transform.XMLEscape .href }}</href><rel>{{ .rel }}</rel></link>{{ end -}}
{{- range $name, $values := .attributes -}}
<attribute><name>{{ upper $name }}</name>
{{- range $values }}<values>{{ transform.XMLEscape . }}</values>{{ end }}</attribute>
{{- end -}}
</event>
{{- end -}}
"""


@dataclass
class Results:
    """What was measured, by contender."""

    runs: dict[str, list[Run]] = field(default_factory=lambda: defaultdict(list))
    memory: dict[str, int] = field(default_factory=dict)
    written: list[int] = field(default_factory=list)

    def walls(self, name: str) -> list[float]:
        return [run.wall for run in self.runs[name]]

    def wall(self, name: str) -> float:
        return median(self.walls(name))


class Bench:
    """The work directory, and the command line of every contender."""

    def __init__(self, work: Path, jobs: int | None) -> None:
        self.work = work
        self.content = work / "content"
        self.site = work / "hugo"
        self.jobs: list[str] = ["--jobs", str(jobs)] if jobs else []
        self.hugo = _binary("hugo", "binaries/hugo")
        self.sourcemeta = _binary(
            "sourcemeta_jsonschema", f"jsonschema-linux-{platform.machine()}"
        )
        self.number = 0

    def fresh(self, name: str) -> Path:
        """A directory that does not exist yet."""
        self.number += 1
        return self.work / f"{name}-{self.number}"

    def shopwindow(self, *arguments: str | Path) -> Command:
        return [sys.executable, "-m", "shopwindow", *arguments]

    def build(self, content: Path, out: Path) -> Command:
        return self.shopwindow("build", "--content", content, "--out", out, *self.jobs)

    def check(self) -> Command:
        return self.shopwindow("check", "--content", self.content, *self.jobs)

    def hugo_build(self) -> Command:
        out = self.fresh("hugo-out")
        places: Command = [
            "--source",
            self.site,
            "--destination",
            out,
            "--cacheDir",
            self.fresh("hugo-cache"),
        ]
        return [self.hugo or "hugo", "build", *places, "--noBuildLock", "--quiet"]

    def sourcemeta_check(self) -> Command:
        schemas = real_content.CHECKOUT / "schemas"
        others: list[str | Path] = []
        for path in sorted(schemas.glob("*.json")):
            others += ["--resolve", path] if path.name != "event.json" else []
        program = self.sourcemeta or "jsonschema"
        return [
            program,
            "validate",
            schemas / "event.json",
            "--fast",
            *others,
            self.content / "events",
        ]

    def check_jsonschema(self) -> Command:
        schema = real_content.CHECKOUT / "schemas" / "event.json"
        files = sorted((self.content / "events").iterdir())
        return [
            _beside_python("check-jsonschema"),
            "--schemafile",
            schema,
            "--base-uri",
            schema.as_uri(),
            *files,
        ]

    def copy(self, release: Path, *options: str) -> Command:
        target = self.fresh("copy")
        return [
            "sh",
            "-c",
            'cp -r "$@" && sync -f "$0"',
            self.work,
            *options,
            release,
            target,
        ]


def _beside_python(name: str) -> Path:
    """A program of this virtual environment."""
    return Path(sys.executable).with_name(name)


def _binary(package: str, name: str) -> Path | None:
    """The program inside a Python package, without the Python that the package starts
    it with.
    """
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or []
    return next(
        (Path(folder) / name for folder in folders if (Path(folder) / name).is_file()),
        None,
    )


def write_site(content: Path, site: Path) -> None:
    """The least Hugo site that renders every event as JSON and as XML: the event's YAML
    as front matter.
    """
    (site / "layouts").mkdir(parents=True)
    (site / "hugo.toml").write_text(HUGO_CONFIGURATION, encoding="utf-8")
    (site / "layouts" / "page.json").write_text(HUGO_JSON, encoding="utf-8")
    (site / "layouts" / "page.document.xml").write_text(HUGO_XML, encoding="utf-8")
    (site / "content").mkdir()
    for path in (content / "events").iterdir():
        page = f"---\n{path.read_text(encoding='utf-8')}---\n"
        (site / "content" / f"{path.stem}.md").write_text(page, encoding="utf-8")


# -- measuring -------------------------------------------------------------------------


def timed(results: Results, name: str, command: Command) -> Run:
    """One run, when what others left dirty is on the disk."""
    os.sync()
    found = run(command)
    results.runs[name].append(found)
    print(
        f"  {name}: {found.wall:.3f} s, processors {found.processor:.3f} s",
        file=sys.stderr,
    )
    return found


def cold(bench: Bench, results: Results, runs: int) -> None:
    """Everything from nothing, the contenders taking turns; the first round is not
    counted.
    """
    release = bench.fresh("out")
    run(bench.build(bench.content, release))
    contenders: dict[str, Callable[[], Command]] = {
        "build": lambda: bench.build(bench.content, bench.fresh("out")),
        "bare script": lambda: [
            sys.executable,
            "-m",
            "benchmarks.bare",
            bench.content / "events",
            bench.fresh("bare"),
        ],
        "copy": lambda: bench.copy(release / "releases"),
        "copy with links": lambda: bench.copy(release / "releases", "--preserve=links"),
        "check": bench.check,
        "help": lambda: [_beside_python("shopwindow"), "--help"],
        "python": lambda: [sys.executable, "-c", "pass"],
    }
    if bench.hugo:
        contenders["hugo"] = bench.hugo_build
    if bench.sourcemeta:
        contenders["sourcemeta"] = bench.sourcemeta_check
    if find_spec("check_jsonschema"):
        contenders["check-jsonschema"] = bench.check_jsonschema
    for number in range(runs + 1):
        counted = results if number else Results()
        names = (
            list(contenders)[number % len(contenders) :]
            + list(contenders)[: number % len(contenders)]
        )
        for name in names:
            for _ in range(
                TIMES.get(name, 1)
                if name != "check-jsonschema" or 0 < number <= SLOW_RUNS
                else 0
            ):
                timed(counted, name, contenders[name]())


def again(bench: Bench, results: Results, runs: int) -> None:
    """Builds over an earlier one: nothing changed, and one event changed."""
    content, out = bench.work / "edited", bench.fresh("out")
    shutil.copytree(bench.content, content)
    for path in sorted((content / "events").iterdir())[:runs]:
        time.sleep(SETTLED)
        run(bench.build(content, out))
        timed(results, "unchanged", bench.build(content, out))
        text = path.read_text(encoding="utf-8")
        path.write_text(
            re.sub('^name: "?', r"\g<0>Now, ", text, flags=re.MULTILINE),
            encoding="utf-8",
        )
        found = timed(results, "one changed", bench.build(content, out))
        results.written += [
            int(count) for count in re.findall(r"(\d+) written", found.output)
        ]


def weigh(bench: Bench, results: Results) -> None:
    """The memory of a cold build, of Hugo and of shopwindow: the middle one of three
    looks, in turns.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for _ in range(3):
        found["build"].append(
            peak_memory(bench.build(bench.content, bench.fresh("out")))
        )
        found["check"].append(peak_memory(bench.check()))
        if bench.hugo:
            found["hugo"].append(peak_memory(bench.hugo_build()))
    results.memory |= {name: int(median(peaks)) for name, peaks in found.items()}


# -- the table -------------------------------------------------------------------------


def table(results: Results) -> Iterator[str]:
    """The lines of a Markdown table."""
    processors = len(os.sched_getaffinity(0))
    goal = 0.4 if processors >= 4 else 0.6
    yield "| What | shopwindow | Beside | Ratio | Goal | |"
    yield "|---|---|---|---|---|---|"
    yield from _beside(results, "Cold build", "build", "hugo", "Hugo", goal)
    yield from _beside(
        results, "Cold build", "build", "bare script", "a bare script in Python", None
    )
    yield from _beside(
        results, "Cold build", "build", "copy", "`cp -r` and `sync -f` of it", 1.0
    )
    yield from _beside(
        results,
        "Cold build",
        "build",
        "copy with links",
        "the same, its links kept",
        None,
    )
    yield from _beside(
        results,
        "Cold check",
        "check",
        "sourcemeta",
        "`jsonschema validate --fast`",
        1.0,
    )
    yield from _beside(
        results, "Cold check", "check", "check-jsonschema", "check-jsonschema", 1 / 20
    )
    yield _alone(results, "Unchanged build", "unchanged", 0.3)
    least, most = min(results.written, default=0), max(results.written, default=0)
    yield _alone(
        results,
        f"One event changed ({least} to {most} files written)",
        "one changed",
        1.0,
    )
    if hugo := results.memory.get("hugo"):
        mine = results.memory["build"]
        ours, theirs = f"{mine / 2**20:.0f} MiB", f"Hugo {hugo / 2**20:.0f} MiB"
        yield _row("Memory of a cold build", ours, theirs, mine / hugo, 0.5)
    yield from _beside(
        results,
        "`shopwindow --help`",
        "help",
        "python",
        "`python -c pass`",
        4.0,
        digits=3,
    )


def _beside(
    results: Results,
    what: str,
    ours: str,
    theirs: str,
    name: str,
    goal: float | None,
    digits: int = 2,
) -> Iterator[str]:
    if results.runs[theirs]:
        ratio = results.wall(ours) / results.wall(theirs)
        beside = f"{name} {spread(results.walls(theirs), digits)}"
        yield _row(what, spread(results.walls(ours), digits), beside, ratio, goal)


def _row(what: str, ours: str, theirs: str, ratio: float, goal: float | None) -> str:
    limit = "" if goal is None else f"at most {goal:.3g}"
    return (
        f"| {what} | {ours} | {theirs} | {ratio:.2f} | {limit} | {_met(ratio, goal)} |"
    )


def _alone(results: Results, what: str, name: str, goal: float) -> str:
    if not results.runs[name]:
        return f"| {what} | not measured | | | | |"
    return f"| {what} | {spread(results.walls(name))} | | | under {goal:g} s | {_met(results.wall(name), goal)} |"


def _met(value: float, goal: float | None) -> str:
    return "" if goal is None else "met" if value <= goal else "missed"


def bare(results: Results) -> Iterator[str]:
    """How the bare script does beside Hugo: what the goal of a cold build was made of."""
    if results.runs["hugo"]:
        ratio = results.wall("bare script") / results.wall("hugo")
        yield f"The bare script (benchmarks/bare.py: the pages that Hugo makes, and nothing else) / Hugo: {ratio:.2f}"


def processor_times(results: Results) -> Iterator[str]:
    """Processor seconds, which tell more than the clock where the machine is shared."""
    for name, found in results.runs.items():
        yield f"{name}: {spread([run.processor for run in found], 3)}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="shopwindow beside what one would take instead."
    )
    parser.add_argument("--events", type=int, default=10_000, metavar="N")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="processes of shopwindow (default: one a processor)",
    )
    parser.add_argument(
        "--promotions", action="store_true", help="build the 1,197 real promotions, too"
    )
    parser.add_argument(
        "--cpus",
        metavar="LIST",
        help="the processors to use, such as 0,1 (default: all)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="where to work; kept (default: temporary, deleted)",
    )
    given = parser.parse_args()
    if given.cpus:
        os.sched_setaffinity(0, {int(cpu) for cpu in given.cpus.split(",")})
    work = given.work or Path(tempfile.mkdtemp(prefix="shopwindow-build-"))
    bench, results = Bench(work, given.jobs), Results()
    data = real_content.read(real_content.data_folder())
    real_content.convert(data, bench.content, given.events, promotions=given.promotions)
    write_site(bench.content, bench.site)
    time.sleep(SETTLED)
    cold(bench, results, given.runs)
    again(bench, results, given.runs)
    weigh(bench, results)
    promotions = ", 1,197 promotions" * given.promotions
    print(
        f"{given.events:,} events at 1,565 stores{promotions}; {len(os.sched_getaffinity(0))} processors, ",
        end="",
    )
    print(
        f"Python {platform.python_version()}; {given.runs} runs: median (least–most)\n"
    )
    print(
        "\n".join(table(results)),
        "",
        *bare(results),
        "\nProcessor time:",
        *processor_times(results),
        sep="\n",
    )
    if given.work is None:
        shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
