"""The commands: each parses, calls one function, prints and returns a status.

How this works. A command's module is imported when the command is called, and not
before: the table COMMANDS has what the overview shows. So `shopwindow --help` is quick,
and `check` needs none of what only the service needs. Exit statuses are decided here
for what every command may meet: wrong use and failures.
"""

from importlib import import_module
from typing import Any

import click

COMMANDS = {
    "init": ("starter", "Begin a content repository."),
    "new": ("starter", "Begin a document, a contract or an API key."),
    "schemas": ("editor", "Write schemas for an editor."),
    "check": ("content", "Report everything that is wrong with the content."),
    "rule": ("rule", "Say what a rule of check wants: a mistake and its fix."),
    "show": (
        "content",
        "Print what an app would get, from the content folder as it is.",
    ),
    "preview": ("preview", "Show the content folder in a browser."),
    "calendar": (
        "calendar",
        "List what goes live, ends, starts and expires, and when.",
    ),
    "why": ("explain", "Say which file sets a value, and what that hides."),
    "uses": ("explain", "List every place that names a document."),
    "retire": ("explain", "End a document on a day, and what needs it."),
    "build": ("releases", "Check the content, write a release and activate it."),
    "releases": ("releases", "List the releases, the newest first."),
    "rollback": ("releases", "Activate an earlier release, and pin it."),
    "activate": ("releases", "Make a release the current one, and unpin."),
    "diff": (
        "releases",
        "Print what changes between two releases, and the URLs to purge.",
    ),
    "prune": ("releases", "Delete old releases."),
    "verify": ("releases", "Compare every file of a release with its digest."),
    "publish": ("delivery", "Bring the current release to an object store."),
    "pull": ("pulling", "Bring the current release of an object store to this host."),
    "keys": ("keys", "Make and look after the keys that sign releases."),
    "catalog": ("catalog", "Convert feeds of the product catalog; explain a search."),
    "serve": ("service", "Answer requests from the current release."),
    "migrate": ("database", "Bring the database to this program's form."),
    "restore": ("database", "Put a backup in a SQLite database's place."),
    "maintain": ("maintain", "Build, mail, back up and prune: what a timer calls."),
    "optins": ("optins", "Export who opted in or out; forget a person."),
    "codes": ("codes", "Issue, import and count single-use codes."),
    "edge": ("edge", "Print the configuration of what serves the files."),
}
"""Command → the module that holds it, and its line in the overview."""

FAILED = 4
"""Exit status of a Failure: a full disk, a lock, an unknown release. 2, for wrong use,
is click's.
"""


class _Commands(click.Group):
    """The commands in the order of use. A Failure is printed as a sentence, not a
    traceback.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"shopwindow.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        _offer_interface(command)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

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
            click.echo(f"shopwindow: {message}", err=True)
            ctx.exit(FAILED)


def _offer_interface(command: click.Command) -> None:
    """Give a command, and those below it, the option --interface."""
    from shopwindow.cli.steps import interface_option

    if isinstance(command, click.Group):
        for below in command.commands.values():
            _offer_interface(below)
    elif not any(parameter.name == "interface" for parameter in command.params):
        command.params.append(interface_option())


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="shopwindow")
def main() -> None:
    """Check content written in YAML and publish it as releases of JSON and XML files."""
