"""Our verifying client as the command that tuf-conformance calls (its CLIENT-CLI.md)."""

import argparse
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tuf.api.exceptions import DownloadError, DownloadHTTPError, RepositoryError

from shopwindow.delivery.verifying import MetadataReader, refresh


class Addresses:
    """What a MetadataReader needs of a bucket, over HTTP: the keys are addresses."""

    def stream(self, key: str) -> Iterator[bytes] | None:
        try:
            answer = urllib.request.urlopen(key, timeout=60)
        except urllib.error.HTTPError as error:
            if error.code in (403, 404):
                return None
            raise DownloadHTTPError(str(error), error.code) from None
        return iter(lambda: answer.read(65536), b"")


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("metadata-dir", "metadata-url", "target-dir", "target-base-url"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--target-name", action="append")
    parser.add_argument("command", choices=["init", "refresh", "download"])
    parser.add_argument("trusted_root", nargs="?")
    options = parser.parse_args()
    state = Path(options.metadata_dir)
    if options.command == "init":
        shutil.copyfile(options.trusted_root, state / "root.json")
        return 0
    try:
        base = options.metadata_url.rstrip("/") + "/"
        updater = refresh(state, None, MetadataReader(Addresses()), base)  # type: ignore[arg-type]
        updater.config.prefix_targets_with_hash = True  # ours have the digest in their path
        for name in options.target_name or ():
            target = updater.get_targetinfo(name)
            if target is None:
                raise RepositoryError(f"{name} is not there")
            place = Path(options.target_dir, name.replace("/", "%2F"))
            if not updater.find_cached_target(target, str(place)):
                updater.download_target(target, str(place), options.target_base_url)
    except (RepositoryError, DownloadError, OSError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
