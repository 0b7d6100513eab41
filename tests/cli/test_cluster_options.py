"""Facts about `--cluster` and `--cluster-folder` where they cannot be meant; tests/slow has clusters."""

from pathlib import Path

import pytest

from releases import SAMPLE, shopwindow


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("check", "--cluster-folder x", "--cluster-folder it needs --cluster, which says whose it is"),
        (
            "check",
            "--cluster tcp://127.0.0.1:9",
            "--cluster-folder is missing: with a scheduler's address it names a folder that all workers see under the "
            "same path, or a target such as s3://BUCKET/PREFIX",
        ),
        (
            "check",
            "--cluster local:2 --cluster-folder ftp://x",
            "--cluster-folder ftp://x: a target is s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, gs://BUCKET/PREFIX or "
            "file:///PATH",
        ),
        ("check", "--cluster local:2 --watch", "--watch it does not go with --cluster: run that by itself"),
        ("build", "--cluster local:2 --list", "--cluster it does not go with --list, which builds nothing"),
        ("build", "--cluster local:2 --content y", "--content y: there is no such folder"),
    ],
)
def test_options_of_a_cluster_that_cannot_be_meant_are_wrong_use(
    tmp_path: Path, command: str, options: str, said: str
) -> None:
    content = () if "--content" in options else ("--content", SAMPLE)
    out = ("--out", tmp_path / "out") if command == "build" else ()
    ran = shopwindow(command, *options.split(), *content, *out, cwd=tmp_path)
    assert (ran.status, ran.err.splitlines()[-1]) == (2, f"Error: {said}")
    assert list(tmp_path.iterdir()) == []
