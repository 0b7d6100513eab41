"""Words of shoppers and of products: from text to words to stems.

Both go through the same functions, so that a phrase finds what a product says. A stem
is what the forms of a word have in common. It is conservative: words share one only if
they name the same thing in a shop, for a false match is worse than a missing one.
"""

import re
import unicodedata
from functools import lru_cache

MAX_WORD = 40
"""Characters of a word in ASCII that its stem is made of; the rest is ignored.

It bounds the stems that a product's text can add to the index: a description may hold
an address or a code of any length. Larger or smaller numbers work as well.
"""

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = dict.fromkeys(map(ord, "'’ʼ`´"))
_POSSESSIVE = re.compile("['’ʼ`´]s(?![a-z])")
_HYPHENS = "-‐‑–"
_JOINED = re.compile(rf"(?<![^\W_])[^\W_]++(?:[{_HYPHENS}][^\W_]++)+")
"""Words that hyphens join. It is tried at the beginning of a word only: at every letter
of a long word it would take time by the square of the length.
"""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i"}
)

_STOP_WORDS = (
    "a an and are as at be by for from has have i in into is it its me my of on or our some that the their them"
    " these this those to us was we were which will with you your"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that say nothing of what is sought: they are neither indexed nor searched for.
"""

POLITE_OPENING = re.compile(
    r"^(?:(?:hi |hello |please )?"
    r"(?:(?:i am |im |we are )?(?:looking|searching|shopping) for"
    r"|(?:i|we) (?:want|need|would like|d like|am after)(?: to (?:buy|get|find))?"
    r"|(?:do you|have you|you) (?:have|sell|carry|got)"
    r"|where (?:can|do|could) i (?:buy|find|get)"
    r"|(?:can|could) (?:i|you) (?:buy|find|get|show)(?: me)?"
    r"|(?:show|find|get) me"
    r") (?=.))?(?:(?:a |some |the )?pairs? of (?=.))?"
)
"""The beginning of a sentence that only asks, in words with single spaces between them.
"""

PURPOSES = frozenset(("for", "with", "without"))
PREPOSITIONS = PURPOSES.union(("in", "of", "from", "by", "on"))
"""The word before a preposition names the thing sought. Before one of `PURPOSES` that
is certain: a lantern for camping is a lantern, but a set of knives may be knives.
"""

_FORMS = """\
knife: knives
wife: wives
life: lives
wolf: wolves
calf: calves
half: halves
elf: elves
shelf: shelves
bookshelf: bookshelves
self: selves
leaf: leaves
loaf: loaves
thief: thieves
sheaf: sheaves
scarf: scarves
hoof: hooves
dwarf: dwarves
wharf: wharves
handkerchief: handkerchieves
kerchief: kerchieves
foot: feet
goose: geese
tooth: teeth
mouse: mice
louse: lice
ox: oxen
person: people persons
penny: pence
cactus: cacti
fungus: fungi
octopus: octopi
nucleus: nuclei
radius: radii
alumnus: alumni
stimulus: stimuli
syllabus: syllabi
focus: foci
bacterium: bacteria
appendix: appendices
index: indices
matrix: matrices
vertex: vertices
axe: axes
analysis: analyses
oasis: oases
crisis: crises
potato: potatoes
tomato: tomatoes
hero: heroes
echo: echoes
mango: mangoes
volcano: volcanoes
torpedo: torpedoes
lens: lenses
canvas: canvases
gas: gases
atlas: atlases
bus: buses
pajama: pyjamas pyjama
jewelry: jewellery jewelery
gray: grey
color: colour colours
aluminum: aluminium
donut: doughnut doughnuts
whiskey: whisky whiskies
yogurt: yoghurt
tire: tyre tyres
mustache: moustache
cozy: cosy
man: men mens male males gents gentleman gentlemen mans
woman: women womens female females ladies lady ladys womans
boy: boys
girl: girls
child: children childrens childs kids kid
baby: babies
toddler: toddlers
tee: tees
television: tv tvs telly
"""
IRREGULAR = {
    form: word
    for word, forms in (line.split(": ") for line in _FORMS.splitlines())
    for form in forms.split()
}
"""Plurals that follow no rule, second spellings of a word, and the many words for the
people that a product is made for: each with the word that it counts as.
"""

_WHOLE = (
    "lens canvas gas atlas bias christmas texas alias pancreas news series species chess dress glass brass cross"
    " bedding clothing dressing stocking painting earring wedding pudding icing topping lighting ceiling herring"
    " morning evening building sibling darling duckling dumpling inning lining ring king wing string spring swing"
    " sling thing nothing something anything everything during hundred naked sacred kindred embed shred"
    " rug cutting filling housing railing siding shaving baking being"
)
WHOLE = frozenset(_WHOLE.split())
"""Words that end like an inflected form and are none: a dressing is no form of dress.
"""

_VOWEL = re.compile("[aeiouy]")


def words(text: str) -> list[str]:
    """Return the words of a text in order, without case, accents and apostrophes.

    The genitive loses its s: `men's` is `men`.
    """
    return _WORD.findall(_folded(text))


def indexed(text: str) -> list[str]:
    """Return the words that a text is found by: no stop words; `t-shirt` also as
    `tshirt`.
    """
    folded = _folded(text)
    significant = [word for word in _WORD.findall(folded) if word not in STOP_WORDS]
    if any(hyphen in folded for hyphen in _HYPHENS):
        significant += (
            "".join(_WORD.findall(joined)) for joined in _JOINED.findall(folded)
        )
    return significant


def _folded(text: str) -> str:
    """Return a text in lower case without accents, apostrophes and genitives."""
    text = _POSSESSIVE.sub("", text.lower()).translate(_APOSTROPHES)
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c)).translate(
        _LETTERS
    )


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Return what a word shares with its plural, its past and its -ing form.

    A stem has letters a to z and digits only. A word of another script is written as
    its bytes in hexadecimal, so that FTS5 takes it for one word.
    """
    if not word.isascii():
        return "u" + word.encode().hex()
    word = word[:MAX_WORD]
    if word in IRREGULAR:
        return _without_e(IRREGULAR[word])
    if len(word) <= 3 or not word.isalpha():
        return word
    return _without_e(_without_ending(_singular(word)))


def _singular(word: str) -> str:
    if word in WHOLE or word.endswith(("ss", "us", "is")) or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "uses")) and len(word) > 4:
        return word[:-1] if word.endswith(("auses", "ouses")) else word[:-2]
    return word[:-1]


def _without_ending(word: str) -> str:
    """Return a word without -ing or -ed, if four letters are left: `rugged` is no rug.

    A consonant that was doubled before the ending is single again: `quilted`,
    `shipping`. That of `fill`, `dress` or `buzz` is the word's own.
    """
    if word in WHOLE:
        return word
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest == word or not _VOWEL.search(rest) or rest.endswith("e"):
            continue
        last = rest[-1:]
        is_double = rest[-2:-1] == last
        is_own = last in "lsz" and not (last == "l" and len(rest) > 5)
        if is_double and not is_own:
            rest = rest[:-1]
        return rest if len(rest) >= 4 else word
    return word


def _without_e(word: str) -> str:
    if word.endswith("ie") and len(word) > 4:
        return word[:-2] + "y"
    return (
        word[:-1]
        if len(word) > 3 and word.endswith("e") and not word.endswith("ee")
        else word
    )
