"""Facts about what is said of workers that do not fit."""

from shopwindow.cluster.connected import misfits_in_words


def test_of_workers_that_do_not_fit_one_has_its_reason_and_the_others_are_counted() -> None:
    one = {"tcp://a:1": "has another version of Python, 3.12 instead of 3.11: install the same on every worker"}
    two = {**one, "tcp://b:1": "does not see /shared"}
    assert misfits_in_words(one, 3) == f"the worker tcp://a:1 {one['tcp://a:1']}"
    assert misfits_in_words(two, 3) == f"the worker tcp://a:1 {one['tcp://a:1']}; of 3 workers 2 do not fit"
