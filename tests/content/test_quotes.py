"""Facts about a quote that is not closed: it is reported, alone, where it opens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwindow.content.reading import yaml
from shopwindow.content.reading.yaml import Malformed

MARK = "‸"

OPEN_QUOTES = [
    # to the end of the file
    'name: ‸"Carving\nstart: 1\n',
    "name: ‸'Carving\nstart: 1\n",
    'start: 1\nname: ‸"Carving',
    'start: 1\nname: ‸"Carving\n',
    "- id: 1\n  name: ‸'Carving\n- id: 2\n  name: Skiing\n",
    # to the next quote of the kind, behind which something follows
    'name: ‸"Carving\nplace: "Grill"\n',
    "name: ‸'Carving\nplace: 'Grill'\n",
    'name: ‸"Carving\nstart: 1\nend: 2\nplace: "Grill"\nfee: "5"\n',
    "name: ‸'Carving\nplace: the chef's table\n",
    "name: ‸'Carving\nplace: the chef's and the cook's table\n",
    'name: ‸"Carving\nplace: "Grill" # east\n',
    'a: "fine"\nname: ‸"Carving\nplace: "Grill"\n',
    'name: ‸"Carving\n# "x"\nplace: Grill\n',
    # to a quote that closes it by chance
    'name: ‸"Skis\nlength: 5"\n',
    'name: ‸"Skis\nlength: 5"\nfee: 1\n',
    "name: ‸'Skis\nowner: the twins'\nfee: 1\n",
    '- id: 1\n  name: ‸"Skis\n- id: 2\n  name: 5"\n- id: 3\n',
    '- ‸"a\n- b"\n- c\n',
    'name: ‸"Skis\nlength: ""\n',
    # lists
    '- ‸"a\n- "b"\n- "c"\n',
    'tags:\n  - "a"\n  - ‸"b\n  - "c"\n',
    "tags:\n- ‸'a\n- 'b'\nname: x\n",
    "- id: 1\n  tags:\n    - ‸'a\n  name: it's\n",
    # brackets and braces
    'tags: [‸"a, b]\nname: x\n',
    'tags: [‸"a, b]\nname: "x"\n',
    'tags: ["z", ‸"a, "b"]\nname: x\n',
    'tags: [‸"a, "b"]\nname: x\n',
    "links:\n  - {href: ‸'/a, rel: details}\n  - {href: '/b', rel: register}\n",
    'links:\n  - {href: ‸"/a, rel: "details"}\nname: x\n',
    'links: [\n  {href: ‸"/a, rel: b},\n  {href: "/c", rel: d},\n]\n',
    'links: [\n  {href: "/a", rel: ‸"b},\n  {href: "/c", rel: d},\n]\n',
    'link: {‸"href: /a, rel: b}\nname: "x"\n',
    # keys
    '‸"name: Carving\nplace: Grill\n',
    '‸"name: Carving\nplace: "Grill"\n',
    "a: 1\n‸'name: Carving\nplace: 'Grill'\n",
    "config:\n  ‸'name: Carving\n  place: 'Grill'\nmore: 1\n",
    # at any depth, and with what else texts hold
    'a:\n  b:\n    c: ‸"x\n    d: 1\n  e: 2\nf: "y"\n',
    'name: ‸"say \\"hi\\"\nplace: "Grill"\n',
    "name: ‸'it''s\nplace: 'Grill'\n",
    'name: ‸"{{ brand }} day\nplace: "{{ www }}/x"\n',
    'name: ‸"Carving\ntext: |-\n  "fa la la"\nplace: x\n',
    "name: ‸\"don't\nplace: 'x'\nfee: \"1\"\n",
    "name: ‸'C:\\dir\nplace: \"C:\\\\x\"\nfee: 'y'\n",
    'name: ‸"Carving\npath: "C:\\dir"\n',
    # other faults behind it mean nothing
    'name: ‸"Carving\nplace: "x"\na: 1\na: 2\nb: [\n',
]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("marked", OPEN_QUOTES)
def test_an_open_quote_is_the_one_fault_and_stands_where_it_opens(marked: str, end: str) -> None:
    before, _, after = marked.partition(MARK)
    with pytest.raises(Malformed) as caught:
        yaml.load((before + after).replace("\n", end))
    fault = caught.value
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (fault.rule, fault.place.line, fault.place.column) == ("yaml.quote", line, column)
    assert fault.more == ()
    assert fault.value is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        # a fault before any open quote is the one to mend first
        ('a: b: c\nname: "x\n', "yaml.syntax"),
        # text of several lines, which ends
        ('a: "b\n  c: d\n  - e"\nf: [\n', "yaml.syntax"),
        ('a: "b\n  c" d\n', "yaml.quote"),
        ('a: "b" c\n', "yaml.syntax"),
        ('a: ["b" c]\n', "yaml.syntax"),
    ],
)
def test_other_faults_keep_their_names(text: str, rule: str) -> None:
    with pytest.raises(Malformed) as caught:
        yaml.load(text)
    assert caught.value.rule == rule


words = st.text(st.sampled_from("abc 1.,!é"), min_size=1, max_size=12).map(lambda word: f"w{word}w")


@given(
    st.lists(st.tuples(words, st.sampled_from(["", "'", '"']), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 11),
    st.sampled_from(["'", '"']),
    st.sampled_from(["{key}: {value}", "- {value}", "- id: 1\n  {key}: {value}", "{key}:\n  - {value}"]),
)
def test_whatever_stands_around_it_an_open_quote_is_reported_in_its_line(
    entries: list[tuple[str, str, bool]], at: int, quote: str, form: str
) -> None:
    at %= len(entries)
    lines: list[str] = []
    expected = 0
    for number, (word, style, apostrophe) in enumerate(entries):
        value = f"{style}{word}{style}"
        if not style and apostrophe:
            value += "'s"
        if number == at:
            value = quote + word
        lines += form.format(key=f"k{number}", value=value).split("\n")
        if number == at:
            expected = len(lines)
    with pytest.raises(Malformed) as caught:
        yaml.load("\n".join(lines) + "\n")
    assert (caught.value.rule, caught.value.place.line, caught.value.more) == ("yaml.quote", expected, ())
