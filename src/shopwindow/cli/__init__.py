"""The commands: each parses, calls one function, prints and returns a status.

How this works. A command's module is imported when the command is called, and not
before: the table SECTIONS has what the overview shows. So `shopwindow --help` is quick,
and `check` needs none of what only the service needs. Exit statuses are decided here
for what every command may meet: wrong use and failures.
"""

from importlib import import_module
from typing import Any

import click

SECTIONS = {
    "Edit": {
        "check": ("content", "Report everything that is wrong with the content."),
        "preview": ("preview", "Show the content folder in a browser."),
        "show": ("content", "Print what an app would get, from the content folder."),
        "new": ("starter", "Begin a document, a contract or an API key."),
        "why": ("explain", "Say which file sets a value, and what that hides."),
        "uses": ("explain", "List every place that names a document."),
        "retire": ("explain", "End a document on a day, and what needs it."),
        "calendar": ("calendar", "List what goes live, ends and starts, and when."),
        "rule": ("rule", "Say what a rule of check wants: a mistake and its fix."),
    },
    "Release": {
        "build": ("releases", "Check the content, write a release and activate it."),
        "diff": ("releases", "Print what changes between releases, and what to purge."),
        "releases": ("releases", "List the releases, the newest first."),
        "activate": ("releases", "Make a release the current one, and unpin."),
        "rollback": ("releases", "Activate an earlier release, and pin it."),
        "verify": ("releases", "Compare every file of a release with its digest."),
        "prune": ("releases", "Delete old releases."),
    },
    "Deliver": {
        "publish": ("delivery", "Bring the current release to an object store."),
        "pull": ("delivery", "Bring an object store's current release to this host."),
        "edge": ("edge", "Print the configuration of what serves the files."),
        "keys": ("keys", "Make and look after the keys that sign releases."),
    },
    "Serve": {
        "serve": ("service", "Answer requests from the current release."),
        "maintain": ("maintain", "Build, mail, back up and prune: what a timer calls."),
        "migrate": ("database", "Bring the database to this program's form."),
        "restore": ("database", "Put a backup in a SQLite database's place."),
        "codes": ("codes", "Issue or import single-use codes, and count them."),
        "optins": ("optins", "Export who opted in or out; forget a person."),
    },
    "Begin": {
        "init": ("starter", "Begin a content repository."),
        "schemas": ("starter", "Write schemas for an editor, and OpenAPI."),
        "catalog": ("catalog", "Import feeds of the catalog; explain a search."),
    },
}
"""The overview: what an editor needs every day comes first, and an operator's commands
below it. Command → the module that holds it, and its line.
"""

COMMANDS = {
    name: module
    for section in SECTIONS.values()
    for name, (module, _) in section.items()
}
"""Command → the module that holds it, in the order of the overview."""

PROBLEMS, NOT_ACTIVATED, FAILED = 1, 3, 4
"""Exit statuses; FAILED is that of a Failure: a full disk, a lock, an unknown release.
2, for wrong use, is click's.
"""


def aside(text: str) -> None:
    """Print what is no result: to standard error, so that a pipe has results alone."""
    click.echo(text, err=True)


class _Commands(click.Group):
    """The commands by section. A Failure is printed as a sentence, not a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"shopwindow.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, row[1]) for name, row in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        from shopwindow.problems import Failure, Misuse, in_words

        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click's to handle: the reader has gone
        except Misuse as misuse:
            option = f"--{misuse.argument} " if misuse.argument else ""
            raise click.UsageError(f"{option}{misuse}") from None
        except (Failure, OSError) as failure:
            message = (
                in_words(failure) if isinstance(failure, OSError) else str(failure)
            )
            aside(f"shopwindow: {message}")
            ctx.exit(FAILED)


@click.group(
    cls=_Commands,
    # Names, by which click asks whether one was meant; get_command has the commands.
    commands=[click.Command(name) for name in COMMANDS],
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 120,
        "show_default": True,
    },
)
@click.option(
    "--interface",
    metavar="MODULE:NAME",
    envvar="SHOPWINDOW_INTERFACE",
    show_envvar=True,
    help="What is published, by its Python module and name; default: the store's.",
)
@click.version_option(package_name="shopwindow")
def main(interface: str | None) -> None:
    """Check content written in YAML and publish it as releases of JSON and XML files."""
