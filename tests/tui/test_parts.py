"""The parts views are drawn with: lines, tables, documents, lanes, crumbs, keys, looks, words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstep.errors import AbstepError
from abstep.tui import keys, look, nav, terms
from abstep.tui.look import Look
from abstep.tui.nav import Place, Trail
from abstep.tui.views import MODULES, view_class
from abstep.tui.widgets.lanes import Lane, drawn
from abstep.tui.widgets.lines import fit, plain, width_of, wrap
from abstep.tui.widgets.table import Column, Table

from .pair import comparison

LOOK = Look()


# Lines


@given(st.lists(st.tuples(st.text(max_size=20), st.just("")), max_size=4), st.integers(1, 60))
def test_fit_gives_exactly_the_width_and_nothing_a_terminal_would_obey(spans, columns):
    line = fit(tuple(spans), columns)
    assert width_of(line) == columns
    assert plain(line).isprintable()


def test_fit_ascii():
    assert plain(fit((("▲ +1 → 2 é", ""),), 14, ascii_only=True)) == "^ +1 -> 2 ?   "


@given(st.text(alphabet="ab cd漢", max_size=80), st.integers(10, 40))
def test_wrap_keeps_every_word_and_the_width(text, columns):
    lines = wrap(text, columns, indent=2)
    assert "".join("".join(plain(line).split()) for line in lines) == "".join(text.split())
    assert all(width_of(line) <= columns for line in lines)


# Tables


def table(count: int = 50) -> Table[int]:
    columns = [
        Column("n", 4, lambda n: (str(n), ""), lambda n: n),
        Column("value", 8, lambda n: (f"{n * 37 % 11} us", ""), lambda n: None if n % 10 == 0 else n * 37 % 11),
        Column("name", 0, lambda n: (f"row {'odd' if n % 2 else 'even'} {n}", ""), lambda n: f"{n}", right=False),
    ]  # fmt: skip
    made = Table(columns, list(range(count)), words=lambda n: f"row {'Odd' if n % 2 else 'even'} {n}")
    made.draw(40, 11, LOOK)
    return made


def test_sorting_is_numeric_behind_the_text_and_unknown_comes_last():
    made = table()
    made.act("sort")
    assert made.order[:3] == [49, 48, 47]
    made.act("sort")
    values = [n * 37 % 11 for n in made.order[:-5]]
    assert values == sorted(values, reverse=True)
    assert all(n % 10 == 0 for n in made.order[-5:])
    made.act("reverse")
    values = [n * 37 % 11 for n in made.order[:-5]]
    assert values == sorted(values)
    assert all(n % 10 == 0 for n in made.order[-5:])
    assert "value▴" in plain(made.draw(40, 11, LOOK)[0])


def test_sorting_keeps_the_row_under_the_cursor():
    made = table()
    made.select(13)
    made.act("sort")
    assert made.current == 13


def test_filter_counts_and_inverts():
    made = table()
    made.filter("odd")
    assert made.count_text() == "/odd 25 of 50"
    made.filter("!odd")
    assert made.count_text() == "/!odd 25 of 50"
    assert made.current == 0
    made.filter("no such")
    assert made.current is None
    assert "nothing here contains that" in plain(made.draw(40, 11, LOOK)[1])
    made.filter("")
    assert len(made.order) == 50


MOVES = (
    "down",
    "up",
    "page_down",
    "page_up",
    "first",
    "last",
    "sort",
    "reverse",
    "right",
    "left",
    "next_match",
)


@given(st.lists(st.sampled_from([*MOVES, "previous_match"]), max_size=30), st.integers(2, 30))
def test_the_cursor_is_always_in_sight(actions, height):
    made = table()
    for action in actions:
        made.act(action)
        lines = made.draw(40, height, LOOK)
        assert sum(plain(line).startswith("▶") for line in lines) == 1
        assert len(lines) <= max(height, 2)


def test_a_hundred_thousand_rows_draw_only_what_is_seen():
    asked = []
    columns = [Column("n", 0, lambda n: (asked.append(n) or str(n), ""), lambda n: n)]
    made = Table(columns, range(100_000))
    made.act("last")
    made.draw(40, 20, LOOK)
    assert made.current == 99_999
    assert len(asked) < 50


# Lanes

SPANS = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=30)


@settings(max_examples=200, deadline=None)
@given(SPANS, st.integers(-50, 300), st.integers(3, 400), st.integers(1, 40))
def test_busy_shares_are_exact_at_any_zoom(spans, low, span, columns):
    starts = np.array([s for s, _ in spans], dtype=np.int64)
    ends = np.array([s + d for s, d in spans], dtype=np.int64)
    lane = Lane.union(starts, ends)
    assert (lane.starts[1:] > lane.ends[:-1]).all()
    edges = np.linspace(low, low + span, columns + 1)
    covered = np.zeros(600, dtype=bool)
    for start, length in spans:
        covered[start + 50 : start + length + 50] = True
    total = float(np.clip(np.arange(-50, 550) + 1, low, low + span)[covered].sum())
    total -= float(np.clip(np.arange(-50, 550), low, low + span)[covered].sum())
    assert lane.shares(edges) @ np.diff(edges) == pytest.approx(total)
    assert ((lane.shares(edges) >= -1e-9) & (lane.shares(edges) <= 1 + 1e-9)).all()


def test_only_a_cell_busy_throughout_is_drawn_full_and_a_little_is_seen():
    shares = np.array([0.0, 1e-6, 0.5, 0.999, 1.0])
    assert plain(drawn(shares, LOOK)) == " ▁▅▇█"
    assert plain(drawn(shares, LOOK, communication=True)) == " ░▒▒▓"
    assert plain(drawn(shares, Look("ascii", ascii=True))) == " .++#"


# Places


def test_every_address_opens_and_is_written_again():
    for address in ("verdict", "intervals", "intervals/3", "intervals/3/rank/2", "intervals/3/rank/2/timelines",
                    "contention", "contention/1", "timelines", "checks", "windows"):  # fmt: skip
        assert nav.parse(address, comparison())[-1].address == address


@pytest.mark.parametrize(
    ("address", "said"),
    [("nowhere", "no such place"), ("intervals/0", "counted from 1"), ("intervals/99", "no row 99"),
     ("intervals/1/rank/9", "the ranks are 0, 1, 2, 3"), ("contention/x", "no row x"), ("intervals/1/2", "such place")],
)  # fmt: skip
def test_a_place_that_is_not_there_says_so(address, said):
    with pytest.raises(AbstepError, match=said):
        nav.parse(address, comparison())


def test_the_trail_goes_back_and_siblings_keep_the_way():
    trail = Trail(nav.parse("intervals/3/rank/2", comparison()))
    trail.beside(trail.here.beside(4))
    assert [place.row for place in trail.places] == [None, None, 4, 4]
    assert trail.back()
    assert trail.here == Place("slot", 4)
    trail.jump(Place("intervals"))
    assert [place.kind for place in trail.places] == ["verdict", "intervals"]
    trail.jump(Place("checks"))
    assert [place.kind for place in trail.places] == ["verdict", "checks"]
    assert trail.back()
    assert not trail.back()


@given(
    st.lists(st.text(alphabet="abcdef", min_size=1, max_size=25), min_size=1, max_size=5), st.integers(8, 70)
)
def test_crumbs_fit_and_keep_the_last_piece(titles, width):
    said = nav.crumbs(titles, width, separator="›", more="…")
    assert len(said) <= width
    if len(titles[-1].strip()) <= width - 4:
        assert said.strip().endswith(titles[-1].strip())


# Keys


def test_footers_have_at_most_six_entries_and_fit():
    for kind in MODULES:
        entries = keys.footer(view_class(kind).footer, 80)
        assert len(entries) == len(view_class(kind).footer) <= keys.MOST_IN_FOOTER, kind
        assert sum(len(shown) + 1 + len(word) for shown, word in entries) + 3 * (len(entries) - 1) + 1 <= 80


def test_no_key_is_a_function_key_or_a_chord_or_given_twice():
    every = [name for key in keys.KEYS for name in key.keys]
    assert len(every) == len(set(every))
    assert not [name for name in every if ("+" in name and name != "+") or name.startswith(("f1", "f2"))]


def test_the_readme_table_names_every_key():
    text = keys.markdown_table()
    assert all(key.meaning in text for key in keys.KEYS)
    assert text.count("\n") == len(keys.KEYS) + 1


# Words


def test_every_word_a_view_names_is_defined_and_every_view_is_described():
    for kind in MODULES:
        assert terms.view_text(kind)
        for name in view_class(kind).terms:
            assert terms.term(name).text
    assert all(f"**{entry.name}**" in terms.markdown() for entry in terms.words())


# Looks


@pytest.mark.parametrize(
    ("asked", "environ", "name", "depth", "ascii_only"),
    [
        (None, {"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "full", "full", False),
        (None, {"TERM": "screen-256color"}, "256", "256", False),
        (None, {"TERM": "linux", "LANG": "C"}, "16", "16", True),
        (None, {"TERM": "vt100"}, "mono", "none", False),
        (None, {"TERM": "xterm-256color", "NO_COLOR": "1"}, "256", "none", False),
        ("ascii", {"TERM": "xterm-256color"}, "ascii", "16", True),
        ("mono", {"COLORTERM": "truecolor"}, "mono", "none", False),
        (None, {"ABSTEP_LOOK": "16", "COLORTERM": "truecolor"}, "16", "16", False),
        ("ascii", {"NO_COLOR": "1"}, "ascii", "none", True),
    ],
)
def test_looks(asked, environ, name, depth, ascii_only):
    found = look.choose(asked, environ)
    assert (found.name, found.depth, found.ascii) == (name, depth, ascii_only)


def test_an_unknown_look_is_refused():
    with pytest.raises(AbstepError, match="full, 256, 16, mono, ascii"):
        look.choose("neon", {})


def test_worse_and_better_differ_in_every_look_with_colours_and_never_red_against_green():
    for depth in ("full", "256", "16"):
        one = Look("x", depth)
        assert one.codes("worse") != one.codes("better") != ""
    assert Look("x", "16").codes("worse") == "91"
    assert Look("x", "16").codes("better") == "94"
    assert look.role_of("unchanged") == look.role_of(None) == look.role_of("inconclusive") == ""
