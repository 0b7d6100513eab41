"""Words → stems, and which words a misspelled one is taken for."""

import pytest

from harness.catalogs import OpenedCatalog, ProductQuery, index, product
from shopwindow.catalog.feeds.words import indexed, stem, words

SAME = [
    ("knife", "knives"), ("shelf", "shelves"), ("scarf", "scarves"), ("loaf", "loaves"), ("leaf", "leaves"),
    ("foot", "feet"), ("goose", "geese"), ("mouse", "mice"), ("person", "people"), ("cactus", "cacti", "cactuses"),
    ("man", "men", "mens", "male"), ("woman", "women", "womens", "ladies", "female"), ("child", "children", "kids"),
    ("boy", "boys"), ("girl", "girls"), ("baby", "babies"), ("box", "boxes"), ("brush", "brushes"),
    ("watch", "watches"), ("dress", "dresses"), ("glass", "glasses"), ("vase", "vases"), ("case", "cases"),
    ("bus", "buses"), ("lens", "lenses"), ("canvas", "canvases"), ("berry", "berries"), ("cookie", "cookies"),
    ("pie", "pies"), ("tie", "ties"), ("tomato", "tomatoes"), ("shoe", "shoes"), ("house", "houses"),
    ("cause", "causes"), ("earring", "earrings"), ("cello", "cellos"), ("candle", "candles"), ("iris", "irises"),
    ("print", "printed", "printing", "prints"), ("frame", "framed", "framing"), ("quilt", "quilted"),
    ("cancel", "cancelling", "canceling", "cancelled"), ("knit", "knitted", "knitting"), ("slice", "sliced"),
    ("color", "colour", "colours", "colored"), ("gray", "grey"), ("jewelry", "jewellery"), ("toy", "toys"),
]  # fmt: skip

OTHER = [
    ("dress", "dressing"), ("stock", "stocking"), ("ear", "earring"), ("paint", "painting"), ("bed", "bedding"),
    ("light", "lighting"), ("organ", "organic"), ("s", "string"), ("r", "ring"), ("man", "mandolin"), ("pan", "pants"),
    ("se", "seed"), ("ne", "need"), ("lap", "lapis"), ("gla", "glass"), ("new", "news"), ("glove", "love"),
    ("rug", "rugged"), ("ear", "earing"),
]  # fmt: skip


@pytest.mark.parametrize("forms_of_one", SAME, ids=lambda group: group[0])
def test_the_forms_of_a_word_share_a_stem(forms_of_one: tuple[str, ...]) -> None:
    assert len({stem(word) for word in forms_of_one}) == 1


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_is_another_thing_in_a_shop_has_another_stem(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Men's Crème-Brûlée TORCH", ["men", "creme", "brulee", "torch", "cremebrulee"]),
        ("The T-shirt for you", ["t", "shirt", "tshirt"]),
        ("Straße, Ærø & Łódź", ["strasse", "aero", "lodz"]),
        ("8½ M", ["81", "2", "m"]),
        ("", []),
        ("the and of", []),
        ("日本語 Ω", ["日本語", "ω"]),
    ],
)
def test_words_have_no_case_no_accents_and_no_apostrophes(text: str, expected: list[str]) -> None:
    assert indexed(text) == expected


def test_stop_words_are_words_too() -> None:
    assert words("A lantern for the Camp") == ["a", "lantern", "for", "the", "camp"]


def test_a_stem_has_ascii_letters_and_digits_only() -> None:
    stems = [stem(word) for word in words('日本語 Ω naïve ١٢٣ x² ﬁn \'OR\' NEAR("a" "b")')]
    assert all(each.isascii() and each.isalnum() for each in stems)


MISSPELT = [
    ("breifcase", "briefcase"), ("flanel", "flannel"), ("lippstick", "lipstick"), ("succulant", "succulent"),
    ("colamder", "colander"), ("ukelele", "ukulele"), ("perl", "pearl"), ("sandles", "sandals"),
    ("headfones", "headphones"), ("neckalce", "necklace"), ("gutiar", "guitar"), ("jewlery", "jewelry"),
    ("saxaphone", "saxophone"), ("avacado", "avocado"), ("plyers", "pliers"), ("hcair", "chair"),
    ("cashmeer", "cashmere"), ("mugg", "mug"),
]  # fmt: skip

NOT_SOLD = [
    ("printer", "printed"), ("stapler", "staple"), ("stroller", "stroll"), ("boxers", "beers"), ("crib", "crab"),
    ("cleaner", "clear"), ("router", "outer"), ("toaster", "taste"), ("umbrella", "umbria"), ("cat", "cut"),
    ("lego", "leg"), ("lait", "lit"), ("harmonica", "harmonic"),
]  # fmt: skip
"""What nobody sells, and what is sold."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> OpenedCatalog:
    """One product for each word that is meant, or sold."""
    names = dict.fromkeys(name for _, name in (*MISSPELT, *NOT_SOLD))
    products = [product(number, name, description="It is.") for number, name in enumerate(names, 1)]
    return index(tmp_path_factory.mktemp("shop"), *products)


@pytest.mark.parametrize(("typed", "meant"), MISSPELT)
def test_a_misspelt_word_finds_the_one_that_was_meant(shop: OpenedCatalog, typed: str, meant: str) -> None:
    assert shop.search(typed, ProductQuery()).corrected == meant


@pytest.mark.parametrize(("typed", "other"), NOT_SOLD)
def test_what_is_not_sold_is_not_taken_for_something_else(shop: OpenedCatalog, typed: str, other: str) -> None:
    assert shop.search(typed, ProductQuery()).corrected is None
