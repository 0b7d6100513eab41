"""Addresses of databases: what is read of one, and that no message shows a password."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.databases import PostgresServer
from harness.program import shopwindow
from harness.waits import PATIENCE
from shopwindow.problems import Failure
from shopwindow.service.database.address import server_address, shown, sqlite_path

REFUSED = [
    "jdbc:postgresql://db.example/shop?user=anna&password=s3cret-pw",
    "anna:s3cret-pw@db.example",
    "host=db.example user=anna password=s3cret-pw",
    "postgresql://anna:s3cret-pw@ss@db.example/shop",
    "postgresql://anna:s3/cret-pw@db.example/shop",
    "postgresql://anna:s3?cret-pw@db.example/shop",
    "postgresql://anna:s3cret-pw@[::1/shop",
    "postgresql://anna:s3cret-pw@db.example:5x/shop",
    "postgresql://anna:s3cret-pw%zz@db.example/shop",
    "postgresql://anna:s3cret-pw@db.example/shop?passwrd=s3cret-pw",
    "postgresql:/anna:s3cret-pw@db.example/shop",
    "mysql://anna:s3cret-pw@db.example/shop",
    "mysql://anna:s3@cret-pw@db.example/shop",
    "mysql://anna:s3cret-pw",
    "sqlite:///shop.sqlite?key=s3cret-pw",
    "sqlite://anna:s3cret-pw@db.example/shop",
    "sqlite:///shop%00s3cret-pw",
    "[::1",
    "sqlite://[x",
    "sqlite:///",
    "",
]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_cannot_be_read_is_refused_in_one_sentence_that_shows_no_secret(address: str) -> None:
    pytest.importorskip("psycopg")
    ran = shopwindow("migrate", "--database", address)
    assert (ran.status, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert ran.err.startswith("shopwindow: --database ")
    assert [secret for secret in ("cret", "s3", "anna", "pw@") if secret in ran.err] == []


@pytest.mark.parametrize(
    "command", [["maintain", "--list-dead"], ["restore", "--from", "x"], ["optins", "export"], ["codes", "report"]]
)
def test_every_command_refuses_such_an_address_alike(command: list[str]) -> None:
    ran = shopwindow(*command, "--database", "anna:s3cret-pw@db.example")
    assert (ran.status, "s3cret" in ran.err + ran.out, ran.err.count("\n")) == (4, False, 1)


def test_the_service_refuses_it_alike(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shopwindow", "serve", "--bind", "127.0.0.1:0", "--out", str(tmp_path)]
    environment = {**os.environ, "SHOPWINDOW_DATABASE": "postgresql://anna:s3cret-pw@x@db.example/shop"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert (ran.returncode, "s3cret" in ran.stderr + ran.stdout, ran.stderr.count("\n")) == (4, False, 1)


SHOWN = {
    "postgresql://anna:pw@db.example:5432/shop?sslmode=require": "postgresql://…",
    "jdbc:postgresql://db.example/shop?password=pw": "jdbc:postgresql://…",
    "mysql://anna:p@w@db.example/shop": "mysql://…",
    "anna:pw@db.example": "…",
    "host=db.example password=pw": "…",
}


def test_only_the_scheme_of_an_address_is_shown() -> None:
    assert {address: shown(address) for address in SHOWN} == SHOWN


@given(st.text(alphabet="abcXYZ019@/:?#[]% =&.", max_size=12))
def test_whatever_a_password_holds_it_is_never_in_a_message(middle: str) -> None:
    """The password lies between two marks: whether its address is read or refused, neither mark is shown."""
    pytest.importorskip("psycopg")
    for scheme in ("postgresql", "POSTGRES", "mysql", "jdbc:postgresql"):
        for address in (f"{scheme}://u:QQ{middle}ZZ@h/db", f"{scheme}://h/db?password=QQ{middle}ZZ"):
            try:
                if sqlite_path(address) is None:
                    server_address(address)
                message = shown(address)
            except Failure as failure:
                message = str(failure)
            assert ("QQ" in message, "ZZ" in message) == (False, False)


READ = ["postgresql://", "postgresql:///shop?host=/run", "postgres://u:p%40ss@h/db", "postgresql://a,b:5433/db"]


@pytest.mark.parametrize("address", READ)
def test_addresses_that_libpq_reads_are_taken_as_they_are(address: str) -> None:
    pytest.importorskip("psycopg")
    assert (sqlite_path(address), server_address(address)) == (None, address)


def test_a_scheme_counts_whatever_its_case(postgresql: PostgresServer, tmp_path: Path) -> None:
    address = postgresql.create_database().replace("postgresql://", "POSTGRESQL://")
    assert shopwindow("migrate", "--database", address).status == 0
    assert sqlite_path(f"SQLite:///{tmp_path}/x") == tmp_path / "x"


def test_what_a_server_says_of_a_connection_is_shown_without_the_password(postgresql: PostgresServer) -> None:
    place = urlsplit(postgresql.url())
    address = f"postgresql://anna:s3cret-pw@{place.hostname}:{place.port}/postgres"
    for command in (["migrate"], ["optins", "export"], ["codes", "report"]):
        ran = shopwindow(*command, "--database", address)
        assert (ran.status, 'role "anna" does not exist' in ran.err) == (4, True)
        assert "s3cret" not in ran.err
