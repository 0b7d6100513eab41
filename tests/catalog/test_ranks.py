"""Products that come get ranks between their neighbours, and few others move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwindow.catalog.index.ranks import (
    BETWEEN_FREE,
    INACTIVE,
    MAX_MOVED,
    Moves,
    NoRoom,
    Standing,
    rank_at,
    standing,
)

STANDINGS = st.builds(standing, st.integers(1, 200), st.none() | st.integers(0, 9))


def ranked(products: list[Standing]) -> dict[int, Standing]:
    """The products of an index that is written from nothing, by rank."""
    return {rank_at(place): product for place, product in enumerate(sorted(products), 1)}


def moves_of(by_rank: dict[int, Standing]) -> Moves:
    last = max(by_rank, default=0)
    return Moves(bytearray(rank in by_rank for rank in range(last + 1)), by_rank.__getitem__)


@given(st.lists(STANDINGS, unique_by=lambda product: product.id), st.data())
def test_after_any_moves_the_order_of_ranks_is_that_of_products(products: list[Standing], data: st.DataObject) -> None:
    by_rank = ranked(products)
    for _ in range(3):
        ids = {product.id for product in by_rank.values()}
        leaving = data.draw(st.sets(st.sampled_from(sorted(by_rank)))) if by_rank else set()
        gone = {by_rank[rank].id for rank in leaving}
        coming = data.draw(st.lists(STANDINGS, unique_by=lambda product: product.id))
        coming = [product for product in coming if product.id not in ids - gone]

        moves = moves_of(by_rank)
        for rank in leaving:
            moves.leave(rank)
        for product in coming:
            moves.come(product)
        new = dict(moves.new_ranks())
        assert {product.id for product in coming} <= new.keys()

        left = [product for rank, product in by_rank.items() if rank not in leaving]
        rank_of = {product.id: rank for rank, product in by_rank.items() if rank not in leaving} | new
        all_now = {product.id: product for product in (*left, *coming)}
        by_rank = {rank: all_now[id] for id, rank in rank_of.items()}
        assert [by_rank[rank] for rank in sorted(by_rank)] == sorted(all_now.values())
        assert min(by_rank, default=1) >= 1


@given(st.integers(1, 500), STANDINGS)
def test_a_product_that_comes_to_a_new_index_moves_fewer_than_stand_between_free_numbers(
    size: int, product: Standing
) -> None:
    by_rank = ranked([standing(1000 + number, None) for number in range(size)])
    moves = moves_of(by_rank)
    moves.come(product)
    assert len(dict(moves.new_ranks())) <= BETWEEN_FREE + 1


def test_the_last_product_moves_none() -> None:
    moves = moves_of(ranked([standing(number, None) for number in range(1, 30)]))
    moves.come(standing(99, None))
    assert dict(moves.new_ranks()) == {99: rank_at(29) + 1}


def test_a_product_takes_a_free_number_at_its_place_and_moves_none() -> None:
    moves = moves_of(ranked([standing(2 * number, None) for number in range(1, 30)]))
    moves.come(standing(2 * BETWEEN_FREE + 1, None))
    assert dict(moves.new_ranks()) == {2 * BETWEEN_FREE + 1: BETWEEN_FREE + 1}


def test_where_too_many_would_move_there_is_no_room() -> None:
    by_rank = {rank: standing(rank + 10, None) for rank in range(1, MAX_MOVED + 2)}
    moves = moves_of(by_rank)
    with pytest.raises(NoRoom):
        moves.come(standing(1, None))


def test_best_sellers_stand_before_others_and_products_of_one_place_by_id() -> None:
    products = [standing(5, None), standing(4, 2), standing(9, 0), standing(3, 2), standing(1, None)]
    assert [product.id for product in sorted(products)] == [9, 3, 4, 1, 5]


def test_every_rank_of_an_active_product_is_less_than_those_of_inactive_ones() -> None:
    assert rank_at(100_000_000) < INACTIVE
