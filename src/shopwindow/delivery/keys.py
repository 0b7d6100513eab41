"""Private keys that sign metadata: where they come from, and how they are written.

A key comes from a variable or else a file. It is Ed25519 in PEM (PKCS #8), or that in
one line of Base64, with a passphrase or without. It is never an argument, which every
user of a machine can read, and no message contains it.
"""

import os
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner, Key, Signer, SSlibKey

from shopwindow.problems import Failure
from shopwindow.release.durable import synchronize

KEY_VARIABLE = "SHOPWINDOW_KEY_"
"""Before a role in capitals: the variable that has the role's key."""

PASSPHRASE = "SHOPWINDOW_KEY_PASSPHRASE"  # nosec B105 -- the name of a variable
"""The variable with the passphrase of keys that have one."""

PEM_BYTES = 16 * 1024
"""Bytes of a key at most: one with a passphrase has 300."""

PEM_BEGINNING = b"-----BEGIN "

KEY_ID_DIGITS = 8
"""Digits of a key's id in the name of its file, and in messages. A shop has a dozen."""

OTHERS = 0o077
"""The bits of a file's mode that let others read or write it."""


@dataclass(frozen=True)
class KeySource:
    """Where private keys are looked for.

    ``folder``: has the files. ``environment``: the variables. ``ask``: returns the
    passphrase of what its argument names; it remembers it.
    """

    folder: Path
    environment: Mapping[str, str]
    ask: Callable[[str], str] | None = None

    def signer(self, role: str, public: Key) -> Signer | None:
        """Return what signs with a key of a role; None where it is nowhere.

        Raises Failure where what there is cannot be used.
        """
        variable = KEY_VARIABLE + role.upper()
        path = key_path(self.folder, role, public.keyid)
        if variable in self.environment:
            where = variable
            data = self.environment[variable].encode()
        else:
            where = str(path)
            data = _read(path)
        if not data.strip():
            return None
        private = self._decoded(_in_lines(data), where)
        own = SSlibKey.from_crypto(private.public_key())
        if own.keyid != public.keyid:
            if where == variable:
                return None  # a role may have several keys, and a variable has one
            raise Failure(
                f"{where}: is not the key {public.keyid[:KEY_ID_DIGITS]} of {role}"
            )
        return CryptoSigner(private, own)

    def _decoded(self, data: bytes, where: str) -> Ed25519PrivateKey:
        try:
            private: Any = load_pem_private_key(data, None)
        except TypeError:
            private = self._unlocked(data, where)
        except ValueError:
            raise Failure(
                f"{where}: is no private key in PEM, as `keys init` writes it"
            ) from None
        if not isinstance(private, Ed25519PrivateKey):
            raise Failure(f"{where}: is no Ed25519 key, as `keys init` writes it")
        return private

    def _unlocked(self, data: bytes, where: str) -> Any:
        passphrase = self.environment.get(PASSPHRASE, "")
        if not passphrase and self.ask:
            passphrase = self.ask(where)
        if not passphrase:
            raise Failure(f"{where}: has a passphrase; set {PASSPHRASE}")
        try:
            return load_pem_private_key(data, passphrase.encode())
        except ValueError:
            raise Failure(f"{where}: the passphrase is not the right one") from None


def key_path(folder: Path, role: str, id: str) -> Path:
    """Return the file of a key."""
    return folder / f"{role}-{id[:KEY_ID_DIGITS]}.pem"


def create(folder: Path, role: str, passphrase: str) -> Key:
    """Make a key of a role, write it, and return its public half.

    An empty passphrase does not encrypt it. Raises OSError.
    """
    private = Ed25519PrivateKey.generate()
    signer = CryptoSigner(private)
    data = signer.private_bytes
    if passphrase:
        encryption = BestAvailableEncryption(passphrase.encode())
        data = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    path = key_path(folder, role, signer.public_key.keyid)
    path.touch(0o600, exist_ok=False)
    path.write_bytes(data)
    synchronize(path)
    return signer.public_key


def _in_lines(data: bytes) -> bytes:
    """Return a key in PEM; one may be in Base64 again, and so a single line.

    Pipelines that keep secrets out of their logs may take a single line only.
    """
    if PEM_BEGINNING in data:
        return data
    try:
        return b64decode(data)
    except ValueError:
        return data  # which is no key, as its reader says


def _read(path: Path) -> bytes:
    """Return the bytes of a key's file; empty where there is none.

    Raises Failure where others may read it.
    """
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & OTHERS:
                raise Failure(
                    f"{path}: others may read this private key (mode {mode & 0o777:o}); "
                    f"if nobody has: chmod 600 {path}. Otherwise make another one: "
                    "`shopwindow keys rotate`"
                )
            return file.read(PEM_BYTES)
    except FileNotFoundError:
        return b""
