"""The commands: each parses, calls one function and returns a status. What one needs, it imports itself."""

from importlib import import_module
from typing import Any

import click

COMMANDS = {
    "check": ("content", "Say everything that is wrong with the content."),
    "show": ("content", "Print what an app would get, from the working tree."),
    "build": ("releases", "Check the content, write a release and switch to it."),
    "releases": ("releases", "List the releases, the newest first."),
    "rollback": ("releases", "Switch back to an earlier release, and pin it."),
    "switch": ("releases", "Make a release the current one, and unpin."),
    "diff": ("releases", "What changes between two releases, and the URLs to purge."),
    "prune": ("releases", "Delete old releases."),
    "verify": ("releases", "Compare every file of a release with its digest."),
    "catalog": ("catalog", "The product catalog: feeds imported."),
    "serve": ("service", "Answer requests from the current release."),
    "migrate": ("store", "Bring the store to this program's form."),
    "backup": ("store", "Copy a SQLite store, also while it is in use."),
    "restore": ("store", "Put a backup in a SQLite store's place."),
    "prune-store": ("store", "Remove what the store keeps for a while only."),
    "optins": ("store", "Who opted in or out."),
    "mail": ("mail", "Send the mails of the outbox."),
    "logs": ("logs", "The mobile log."),
    "codes": ("codes", "Single-use codes: issue, import, report."),
    "key": ("edge", "API keys."),
    "edge": ("edge", "What stands in front of the files."),
}
"""Command → the module that holds it, and its line in the overview: `vitrine --help` imports none of them."""

FAILED = 4
"""Exit status of a Failure: a full disk, a lock, an unknown release. 2, for wrong use, is click's."""


class _Commands(click.Group):
    """Commands in the order of use; a Failure is a sentence, not a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"vitrine.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        from vitrine.problems import Failure

        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click's to handle: the reader has gone
        except (Failure, OSError) as failure:
            click.echo(f"vitrine: {failure}", err=True)
            ctx.exit(FAILED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="vitrine")
def main() -> None:
    """Check content written in YAML and publish it as releases of JSON and XML files."""
