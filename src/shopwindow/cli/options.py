"""Options that several commands have: one of a name means the same in each.

Nothing here needs the engine, and a command's module imports that when the command
runs: so `--help` comes at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from shopwindow.interface.declaring.interface import Interface

PATH = click.Path(readable=False, path_type=Path)
"""A folder or a file, whose user reports what cannot be read."""

DEFAULT_DATABASE = "sqlite:///store/shopwindow.sqlite"

DAYS = click.IntRange(1, 3650)
"""Days for which something is stored: at most ten years, as bookkeeping requires."""

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class _MayBeEmpty(click.Option):
    """An option whose environment variable may be empty, which means: none.

    Click takes an empty variable for one that is not set.
    """

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        return os.environ.get(str(self.envvar))


def setting(
    flag: str,
    *names: str,
    may_be_empty: bool = False,
    default: Any = None,
    **more: Any,
) -> Callable[[Decorated], Decorated]:
    """Return an option that an environment variable sets, too; the help names both.

    The variable of `--log-dir` is SHOPWINDOW_LOG_DIR. ``may_be_empty``: an empty one
    means none. The others are those of `click.option`.
    """
    name = flag.partition("/")[0].removeprefix("--").replace("-", "_").upper()
    return click.option(
        flag,
        *names,
        cls=_MayBeEmpty if may_be_empty else click.Option,
        envvar=f"SHOPWINDOW_{name}",
        show_envvar=True,
        default=default,
        show_default=default != "",
        **more,
    )


CONTENT_DIR = click.option(
    "--content",
    type=PATH,
    default="content",
    metavar="DIR",
    help="The content folder.",
)
DEFAULT_OUT = "dist"
OUT = click.option(
    "--out",
    type=PATH,
    default=DEFAULT_OUT,
    metavar="DIR",
    help="The output directory, which holds the releases.",
)
KEEP = click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=10,
    metavar="N",
    help="How many of the newest releases stay.",
)
JOBS = click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    hidden=True,  # for benchmarks and for whoever shares a machine
    help="How many processes share the work; default: one for each processor.",
)
AT = click.option(
    "--at",
    metavar="INSTANT",
    help="Take this instant, and what is live then: 2026-11-27, 2026-11-27 06:00, "
    "2026-11-27 06:00 America/Los_Angeles or RFC 3339; default: now.",
)
AHEAD = click.option(
    "--ahead",
    type=click.FloatRange(0, 366),
    is_flag=False,
    flag_value=3.0,
    metavar="[DAYS]",
    callback=lambda context, option, days: timedelta(days=days or 0),
    help="Take the next DAYS, too, or 3: each instant at which content changes by itself, at most 19.",
)
REASON = click.option(
    "--reason",
    default="",
    show_default=False,
    metavar="TEXT",
    help="Why; goes into the history.",
)
DATABASE_URL = setting(
    "--database",
    default=DEFAULT_DATABASE,
    metavar="URL",
    help="The service's database: sqlite:///PATH or postgresql://….",
)
LOG_DIR = setting(
    "--log-dir",
    may_be_empty=True,
    default="store/log",
    metavar="DIR",
    help="The folder of the mobile log; empty: there is none, and `serve` refuses its entries.",
)
TEMPLATES_DIR = setting(
    "--templates",
    default="content/templates",
    metavar="DIR",
    help="A folder with templates of mails, used instead of the program's own.",
)


def format_option(
    formats: Sequence[str], help: str
) -> Callable[[Decorated], Decorated]:
    """Return the option --format, whose default is the first of its formats."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        help=help,
    )


def interface() -> Interface:
    """Return the Interface that the option --interface names. Raises Failure."""
    from shopwindow.interface.declaring.loading import load

    return load(interface_name())


def interface_name() -> str:
    """Return what the option --interface says, `package.module:NAME`."""
    from shopwindow.interface.declaring.loading import DEFAULT

    root = click.get_current_context().find_root()
    return root.params.get("interface") or DEFAULT
