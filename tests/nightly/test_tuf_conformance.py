"""tuf-conformance, the test suite for clients of The Update Framework, against our verifying client.

The suite is no package: SHOPWINDOW_TUF_CONFORMANCE names a checkout of it, and it needs the command `faketime`. Some
115 tests take minutes, since each starts our program several times.
"""

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from harness.stores import KeySource, Signing, folder, outgoing, release, signed_publish
from shopwindow.delivery import layout, roots

SUITE = os.environ.get("SHOPWINDOW_TUF_CONFORMANCE", "")

NO_SUITE = (
    "SHOPWINDOW_TUF_CONFORMANCE names no checkout of the suite: "
    "git clone https://github.com/theupdateframework/tuf-conformance, and name its folder"
)

CLIENT = Path(__file__).parent.parent / "harness" / "tuf_client.py"

NOT_PASSED: dict[str, str] = {}
"""Test of the suite → why our client does not pass it."""


def our_repository(work: Path, static: Path) -> None:
    """Lay what `publish --keys` writes among the suite's static repositories."""
    id = release(work)
    roots.init(work / "keys", keys=3, threshold=2, passphrase="", moment=datetime.now(UTC))
    source = KeySource(work / "keys", {})
    going, bucket = outgoing(work / "dist"), folder(work / "target")
    signed_publish(going, bucket, Signing(work / "keys", source))
    static.mkdir()
    shutil.copytree(work / "target/metadata", static / "metadata")
    shutil.copy(work / "keys/1.root.json", static / "initial_root.json")
    (static / "targetpath").write_text(layout.release_key(id))
    data = (work / "target" / layout.release_key(id)).read_bytes()
    place = static / "targets" / layout.release_key(id)
    place.parent.mkdir(parents=True)
    # The suite expects the digest in the file's name; our path has the release id.
    place.with_name(f"{sha256(data).hexdigest()}.manifest.json").write_bytes(data)


@pytest.mark.skipif(not SUITE, reason=NO_SUITE)
@pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed (apt-get install faketime)")
def test_our_client_passes_the_suite(tmp_path: Path) -> None:
    suite = shutil.copytree(SUITE, tmp_path / "suite")
    our_repository(tmp_path, suite / "tuf_conformance/static_data/shopwindow")
    command = tmp_path / "client"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{CLIENT}" "$@"\n')
    command.chmod(0o700)
    arguments = ("-q", "-rA", "-p", "no:randomly", "-p", "no:cacheprovider", "--entrypoint", str(command))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, "tuf_conformance"], cwd=suite, capture_output=True, text=True
    )
    outcomes = dict(re.findall(r"^(?:FAILED|ERROR|PASSED) tuf_conformance/(\S+?)(?: - .*)?$()", ran.stdout, re.M))
    failed = set(re.findall(r"^(?:FAILED|ERROR) tuf_conformance/(\S+)", ran.stdout, re.M))
    assert failed == set(NOT_PASSED), ran.stdout[-5000:]
    assert len(outcomes) > 100
    assert [name for name in outcomes if name.endswith("test_static_repository[shopwindow]")] != []
