"""Facts about examples/ci: nothing is installed without its hash, no code of others runs by a name that may move."""

import re
import subprocess
from typing import Any

import pytest
import yaml

from checkout import ROOT

CI = ROOT / "examples/ci"
PIPELINES = ("github.yml", "gitlab-ci.yml")
COMMIT = re.compile("[^@]+@[0-9a-f]{40}")


def values(node: Any) -> list[Any]:
    """Every scalar of a document."""
    if isinstance(node, dict):
        return [value for part in node.values() for value in values(part)]
    if isinstance(node, list):
        return [value for part in node for value in values(part)]
    return [node]


def uses(node: Any) -> list[str]:
    """The actions that a workflow uses."""
    if isinstance(node, dict):
        return [text for key, part in node.items() for text in ([part] if key == "uses" else uses(part))]
    return [text for part in node for text in uses(part)] if isinstance(node, list) else []


@pytest.mark.parametrize("name", PIPELINES)
def test_nothing_is_installed_without_its_hash(name: str) -> None:
    texts = [text for text in values(yaml.safe_load((CI / name).read_text())) if isinstance(text, str)]
    installs = [line.strip() for text in texts for line in text.splitlines() if re.search(r"\bpip3? install\b", line)]
    assert len(installs) == 2
    assert set(installs) == {"pip install --require-hashes --only-binary :all: -r requirements.txt"}


def test_actions_stand_with_their_commits() -> None:
    used = uses(yaml.safe_load((CI / "github.yml").read_text()))
    assert len(used) == 4
    assert [action for action in used if not COMMIT.fullmatch(action)] == []


@pytest.mark.parametrize("name", ["publish.sh", "lock.sh"])
def test_a_shell_understands_the_scripts(name: str) -> None:
    done = subprocess.run(["sh", "-n", str(CI / name)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
