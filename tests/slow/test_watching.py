"""Facts about the alert rules and the dashboard of deploy/: each alert fires where it should, and they ask for metrics
that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.content import ROOT

RULES = ROOT / "deploy/prometheus/alerts.yml"
TESTS = ROOT / "deploy/prometheus/alerts.test.yml"
DASHBOARD = ROOT / "deploy/grafana/dashboard.json"
NAME = re.compile(r"\b(shopwindow_[a-z0-9_]+)")
ENDINGS = re.compile("_(total|bucket|sum|count)$")
"""What Prometheus puts behind a counter's or a histogram's name."""


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def promtool(*arguments: str | Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("there is no promtool here (Debian's package prometheus has it)")
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, cwd=RULES.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_where_it_should_and_is_quiet_elsewhere() -> None:
    promtool("test", "rules", TESTS)


def test_each_alert_is_tested_both_ways() -> None:
    tested: dict[str, set[bool]] = {}
    for case in yaml.safe_load(TESTS.read_text())["tests"]:
        for test in case["alert_rule_test"]:
            tested.setdefault(test["alertname"], set()).add(bool(test["exp_alerts"]))
    assert tested == {rule["alert"]: {True, False} for rule in rules()}


def test_each_alert_says_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "warn")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_the_dashboards_expressions_are_understood(tmp_path: Path) -> None:
    written = [text.replace("$__rate_interval", "5m").replace("$instance", ".*") for text in expressions()]
    groups = [{"name": "g", "rules": [{"record": f"r{at}", "expr": text} for at, text in enumerate(written)]}]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": groups}))
    promtool("check", "rules", tmp_path / "rules.yml")


def test_no_two_panels_lie_on_each_other() -> None:
    places: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        grid = panel["gridPos"]
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert grid["x"] + grid["w"] <= 24
        assert not places & cells, panel["title"]
        places |= cells


def test_they_ask_for_metrics_that_there_are() -> None:
    """By the names as they stand in the source; the end of one that is put together there is not looked at."""
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    written = set(re.findall(r'"(shopwindow_[a-z0-9_]+)', source))
    beginnings = tuple(name for name in written if name.endswith("_"))
    asked = {
        ENDINGS.sub("", name)
        for text in [*(rule["expr"] for rule in rules()), *expressions()]
        for name in NAME.findall(text)
    }
    assert len(asked) > 25
    assert {name for name in asked if name not in written and not name.startswith(beginnings)} == set()
