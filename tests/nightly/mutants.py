"""Faults to put into the program, each with the test that sees it. `python tests/nightly/mutants.py` tries them all.

A case of the suite may be merged or removed only while every one of these still dies. A mutant is one text in one file
of the package, what stands in its place, and a test. That the texts still stand there, once, is a test of its own
(tests/test_mutants.py). `mutants.txt` has what the last whole run printed: whoever changes the list, or what tests of
it share, runs it again.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NO_PART = (".git", ".venv", ".mypy_cache", ".ruff_cache", ".hypothesis", "dist", "__pycache__")


class Mutant(NamedTuple):
    """``path``: below src/shopwindow. ``before`` becomes ``after``, and ``test`` fails."""

    path: str
    before: str
    after: str
    test: str


MUTANTS = (
    Mutant(
        "content/documents/schedule.py",
        "self.start <= moment < self.end",
        "self.start <= moment <= self.end",
        "tests/content/test_schedule.py::test_a_window_is_half_open",
    ),
    Mutant(
        "content/documents/documents.py",
        "sorted(map(unscheduled, live_ones), key=kind.place)",
        "list(map(unscheduled, live_ones))",
        "tests/content/test_schedule.py::test_content_is_what_is_live_in_a_stated_order_without_its_windows",
    ),
    Mutant(
        "content/reading/listing.py",
        "return sorted(\n        os.path.join(at, name)[start:]",
        "return list(\n        os.path.join(at, name)[start:]",
        "tests/content/test_followed_folder.py::test_files_below_a_folder_are_in_the_order_of_their_paths",
    ),
    Mutant(
        "interface/formats.py",
        'matching = (media_type, f"{kind}/*", f"*/{subtype}", "*/*", "*")',
        'matching = ("*/*", "*", f"{kind}/*", f"*/{subtype}", media_type)',
        "tests/interface/test_negotiation.py::test_accept_decides_the_format",
    ),
    Mutant(
        "interface/declaring/limits.py",
        "if len(times) < limit.most:",
        "if len(times) <= limit.most:",
        "tests/retail/test_share.py",
    ),
    Mutant(
        "retail/consents/table.py",
        "consents.at <= excluded.at",
        "consents.at < excluded.at",
        "tests/service/test_database.py::test_of_two_choices_at_one_instant_the_one_that_is_written_last_counts",
    ),
    Mutant(
        "service/allowances.py",
        "            rate,\n            min(cost, rate.most),",
        "            rate,\n            cost,",
        "tests/service/test_limits.py::test_what_costs_more_than_a_rate_takes_all_of_it_and_no_more",
    ),
    Mutant(
        "preview/guard.py",
        'if host == "localhost":',
        'if host.endswith("localhost"):',
        "tests/servers/test_served_pages.py::test_only_an_address_of_this_machine_alone_is_shown_without_a_secret",
    ),
    Mutant(
        "retail/bags/operations.py",
        '        unlimited="It takes rows away.",\n',
        "",
        "tests/interface/test_declared.py",
    ),
    Mutant(
        "catalog/operations/availability.py",
        "[by_number[number] for number in sorted(by_number)]",
        "[by_number[number] for number in by_number]",
        "tests/catalog/test_catalog_oracles.py::test_upcs_are_in_the_order_of_their_numbers_and_stores_nearest_first_then_by_number",
    ),
    Mutant(
        "retail/places/distance.py",
        "        within.sort()\n",
        "",
        "tests/catalog/test_catalog_oracles.py::test_upcs_are_in_the_order_of_their_numbers_and_stores_nearest_first_then_by_number",
    ),
    Mutant(
        "catalog/operations/availability.py",
        'in_store if eligible else "UNAVAILABLE"',
        "in_store",
        "tests/catalog/test_catalog_oracles.py::test_what_cannot_be_picked_up_is_unavailable_for_it_whatever_the_store_has",
    ),
    Mutant(
        "catalog/index/sums.py",
        "np.lexsort((ids, best, best == NONE, is_inactive))",
        "np.lexsort((ids, best, is_inactive))",
        "tests/catalog/test_index.py::test_browse",
    ),
    Mutant(
        "catalog/index/taking.py",
        "        self._delete(kind, earlier.gone())\n",
        "",
        "tests/catalog/test_edited_catalog.py",
    ),
    Mutant(
        "catalog/index/row_digests.py",
        'UNION ALL SELECT id, digest, NULL FROM listed"\n        " WHERE id NOT IN (SELECT id FROM product) ',
        "",
        "tests/delivery/test_pull.py::test_an_index_whose_rows_are_not_those_of_the_id_is_refused",
    ),
    Mutant(
        "catalog/reading/differing.py",
        "WHERE (now.online IS 0) != (was.online IS 0)",
        "WHERE now.online != was.online",
        "tests/catalog/test_catalog_release.py",
    ),
    Mutant(
        "catalog/index/lines.py",
        "beside += [list(self.stores), self.limited]",
        "beside += [self.limited]",
        "tests/catalog/test_known_lines.py",
    ),
    Mutant(
        "catalog/index/wording.py",
        "            self._forget(texts_of(rows, self._before))\n",
        "            pass\n",
        "tests/catalog/test_edited_catalog.py",
    ),
    Mutant(
        "delivery/upkeep.py",
        "    yield from (link.id for link in present.chain.links)\n",
        "",
        "tests/delivery/test_upkeep.py::test_of_releases_that_were_sent_in_one_second_the_current_one_stays",
    ),
    Mutant(
        "delivery/upkeep.py",
        "        spared |= {id for id in sent if now - sent[id] < SPARED}\n",
        "",
        "tests/delivery/test_upkeep.py::test_prune_spares_a_release_that_was_sent_within_a_day_though_it_was_last_current_before",
    ),
    Mutant(
        "delivery/upkeep.py",
        "    yield from present.unpurged\n",
        "",
        "tests/delivery/test_upkeep.py::test_prune_spares_what_was_current_within_a_day_and_what_is_to_be_purged",
    ),
    Mutant(
        "delivery/upkeep.py",
        "if present.id(now) not in sent:",
        "if not sent:",
        "tests/delivery/test_upkeep.py::test_a_listing_that_lacks_the_current_release_is_not_believed",
    ),
    Mutant(
        "delivery/upkeep.py",
        "missing = sorted(wanted - layout.present(bucket))",
        "missing: list[str] = []",
        "tests/delivery/test_upkeep.py::test_a_release_that_lacks_an_object_is_not_rolled_back_to",
    ),
    Mutant(
        "delivery/pointer.py",
        'if value["format"] > POINTER_FORMAT:',
        'if value["format"] > POINTER_FORMAT + 1:',
        "tests/delivery/test_publish.py::test_newer_formats_are_refused",
    ),
    Mutant(
        "delivery/pointer.py",
        "if since and datetime.now(UTC)",
        "if not since and datetime.now(UTC)",
        "tests/delivery/test_upkeep.py::test_while_somebody_prunes_nobody_moves_the_pointer",
    ),
    Mutant(
        "edge/rules.py",
        "(name, tuple(sorted(digests))) for",
        "(name, ()) for",
        "tests/edge/test_edge_rules.py::test_the_digest_changes_with_what_the_edge_must_know_and_with_nothing_else",
    ),
    Mutant(
        "edge/rules.py",
        "            if operation.prerendered\n",
        "",
        "tests/edge/test_edge_rules.py::test_operations_without_entries_and_writes_have_no_route",
    ),
    Mutant(
        "edge/rules.py",
        '"[1-9][0-9]{0,15}"',
        '"[0-9]{1,16}"',
        "tests/edge/test_edge_rules.py::test_the_rules_know_no_other_target",
    ),
    Mutant(
        "editor/texts.py",
        'f"(?:{pattern})|{HOLDS_EXPRESSION}"',
        'f"(?:{pattern})"',
        "tests/editor/test_editor_texts.py::test_a_text_is_accepted_as_check_accepts_it",
    ),
    Mutant(
        "editor/texts.py",
        "(max(admitted) - 1) - 1",
        "max(admitted) - 1",
        "tests/editor/test_editor_texts.py::test_a_text_is_accepted_as_check_accepts_it",
    ),
    Mutant(
        "editor/texts.py",
        "isinstance(pattern, str) and not _FOREIGN.search(pattern)",
        "isinstance(pattern, str)",
        "tests/editor/test_editor_texts.py::test_a_pattern_that_no_editor_reads_is_left_to_check",
    ),
    Mutant(
        "content/editing/retiring.py",
        "if window and window.start >= plan.end:",
        "if False:",
        "tests/cli/test_retire.py::test_what_needs_a_choice_is_said_and_nothing_is_written",
    ),
    Mutant(
        "starter/begin.py",
        "if content.is_dir() and any(content.iterdir()):",
        "if content.is_dir() and False:",
        "tests/starter/test_begin.py::test_content_of_somebody_is_not_mixed_with_ours",
    ),
    Mutant(
        "starter/begin.py",
        "                undo.callback(_try, path.unlink)\n",
        "",
        "tests/starter/test_begin.py::test_what_cannot_be_written_whole_is_not_written",
    ),
    Mutant(
        "starter/begin.py",
        "if os.path.lexists(path):",
        "if path.exists():",
        "tests/starter/test_begin.py::test_a_link_that_leads_nowhere_is_not_written_through",
    ),
)


def dies(mutant: Mutant) -> bool:
    """Return whether the mutant's test fails in a copy of the checkout that has the mutant."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "shopwindow"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NO_PART), symlinks=True)
        file = copy / "src/shopwindow" / mutant.path
        file.write_text(file.read_text(encoding="utf-8").replace(mutant.before, mutant.after), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", mutant.test]
        environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    # 1: a test failed. Any other status says that none ran.
    return ended.returncode == 1


def main(words: list[str]) -> int:
    """Try every mutant, or those whose path has one of these words."""
    alive = 0
    for mutant in MUTANTS:
        if words and not any(word in mutant.path for word in words):
            continue
        is_dead = dies(mutant)
        alive += not is_dead
        print("dies " if is_dead else "LIVES", mutant.path, repr(mutant.after), flush=True)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
