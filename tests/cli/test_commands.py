"""The tree of commands: how much of it somebody has to learn, and in which order it is shown."""

import re
from pathlib import Path

import click
import pytest

from facts.reference_pages import commands
from harness.program import shopwindow
from shopwindow.cli import COMMANDS, SECTIONS, main

MOST_COMMANDS = 35
MOST_OPTIONS = 155
"""Of all commands together: those that are shown, without arguments and `--help`."""


def test_there_are_few_commands_and_options() -> None:
    listed = dict(commands(main))
    options = [
        f"{name} {parameter.opts[-1]}"
        for name, command in listed.items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    assert len(listed) <= MOST_COMMANDS, sorted(listed)
    assert len(options) <= MOST_OPTIONS, options


def test_the_overview_has_every_command_once_below_its_section() -> None:
    shown = shopwindow("--help").out
    for title, section in SECTIONS.items():
        below = shown.split(f"\n{title}:\n")[1].split("\n\n")[0]
        assert re.findall(r"^  ([a-z]+) ", below, re.MULTILINE) == list(section)
    assert len(COMMANDS) == sum(map(len, SECTIONS.values()))


def test_which_interface_is_published_stands_before_the_command() -> None:
    ran = shopwindow("--interface", "no.such:INTERFACE", "check")
    missing = "--interface no.such:INTERFACE: there is no module no to import"
    advice = "install it, or name the folder that holds it in PYTHONPATH"
    assert (ran.status, ran.err) == (4, f"shopwindow: {missing}; {advice}\n")
    assert "--interface" not in shopwindow("check", "--help").out


@pytest.mark.parametrize("command", [*COMMANDS])
def test_a_command_with_a_slip_is_asked_for_by_its_name(command: str) -> None:
    ran = shopwindow(f"{command}x")
    said, _, meant = ran.err.partition("id you mean ")
    assert (ran.status, f"No such command '{command}x'" in said, f"'{command}'" in meant) == (2, True, True)


@pytest.mark.parametrize(
    ("words", "option"),
    [(["serve", "--bind"], "--bind"), (["serve", "--admin"], "--admin"), (["preview", "--bind"], "--bind")],
    ids=" ".join,
)
def test_what_is_no_address_is_told_with_its_option(words: list[str], option: str, tmp_path: Path) -> None:
    for text in ("8000", "host:port", ":8000", "127.0.0.1:65536"):
        ran = shopwindow(*words, text, "--out", tmp_path)
        said = ran.err.splitlines()[-1]
        assert (ran.status, said) == (2, f"Error: {option} must be HOST:PORT, not {text!r}")
