"""The report: whole, true to the result file, and deaf to what names try to inject."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from abstep.compare.comparison import Explanation
from abstep.report.markdown import TERMS, markdown
from abstep.report.markup import BREAK, fenced, plain, table
from abstep.report.result import result
from abstep.units import name_text

from . import odd, sample

if TYPE_CHECKING:
    from markdown_it.token import Token

READER = MarkdownIt("gfm-like", {"html": True})
assert READER.linkify is not None
READER.linkify.set({"fuzzy_link": False})  # GitHub links bare domains only after www.
COMMAND = "abstep compare runs/base runs/variant --report r.md"
ATTACKS = [
    "a|b", "a\\|b", "`x`", "``", "<script>alert(1)</script>", "<!-- x", "</details>", "&lt;b&gt;", "&#42;x&#42;",
    "[a](http://x.y)", "![a](http://x.y/i.png)", "[a]: http://x.y", "http://x.y", "https://x.y", "www.x.yz", "ftp://x.y",
    "@someone", "a@b.com", "mailto:a@b.com", "#12", "org/repo#3", "GH-4", "# h", "> q", "- l", "+ l", "* l", "1. l",
    "9) l", "x #", "x ##", "<script x", "<pre x", "<?x", "<!X",
    "---", "===", "***", "~~~", "~~s~~", "**b**", "__b__", "_i_", "*i*", "$x$", "$$x$$", ":tada:", "[ ] todo", "[^1]",
    "x\n\n# h", "x\r| a |\n| - |", "    code", "\tcode", "\x1b[31mred", "\u202e x", "a\\", "\\", "|", "||", "<", "a  ",
    "{% x %}", "<details>", "x<br>y", "\u2028# h", "a_b_c", "a__b", "_", "*", "%%x", "H~2~O", "a^b^",
]  # fmt: skip


def structure(text: str) -> list[tuple[str, str]]:
    """What a Markdown reader builds, without the words: (type, tag) of every token."""
    found = []
    for token in READER.parse(text):
        found.append((token.type, token.tag))
        found += [(t.type, t.tag) for t in token.children or () if not _words(t)]
    return found


def _words(token: Token) -> bool:
    return token.type in ("text", "text_special") or token.content in ("<span>", "</span>")


def tables(text: str) -> list[list[list[str]]]:
    """Every table as rows of cell texts."""
    found: list[list[list[str]]] = []
    for token in READER.parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and found and token.level >= 4:
            found[-1][-1].append(
                "".join(t.content for t in token.children or () if t.type.startswith("text"))
            )
    return found


def table_with(text: str, *heads: str) -> list[list[str]]:
    return next(t[1:] for t in tables(text) if t[0][: len(heads)] == list(heads))


@pytest.mark.parametrize("name", odd.VARIANTS)
def test_every_table_is_whole(name: str) -> None:
    text = markdown(odd.VARIANTS[name](), command=COMMAND)
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert rows
    assert sum(len(t) for t in tables(text)) + len(tables(text)) == len(rows)
    for found in tables(text):
        assert {len(row) for row in found} == {len(found[0])}
        assert len(found) > 1
    assert not re.search(r"\b(None|nan|inf)\b", text)
    assert "\n\n\n" not in text


def test_sections_for_someone_who_was_not_there() -> None:
    text = markdown(sample.comparison(), command=COMMAND)
    heads = re.findall(r"^## (.*)", text, re.MULTILINE)
    for word in ("Warnings", "difference comes from", "disappeared", "Contention", "Collectives", "Ranks", "path",
                 "compared?", "Windows", "Statistics", "reproduce", "Terms"):  # fmt: skip
        assert sum(word in head for head in heads) == 1, word
    assert f"```sh\n{COMMAND}\n```" in text
    assert "abstep 0.1.0; options: alpha 0.05, min_effect_pct 1.0, warmup auto" in text
    assert sample.comparison().sentences[0] in text
    assert "A change of 710 us (1.5 % of the step) would have been seen four times in five." in text
    assert "Step time: p = 0.0012; margin for unchanged 482 us." in text
    assert table_with(text, "Setting")[1] == ["bucket_cap_mb", "100", "4"]
    checks = {row[0]: row for row in table_with(text, "Check", "Status")}
    assert checks["software"][1:] == ["warn", "torch 2.7.1", "torch 2.8.0", "another version of PyTorch"]
    assert ["base", "warm-up", "0", "all", "0-1"] in table_with(text, "Side", "Reason")
    assert all(f"**{term}**" in text for term in TERMS)


def test_slots_are_the_result_files() -> None:
    found = {row["label"]: row for row in result(sample.comparison())["intervals"]}
    text = markdown(sample.comparison(), command=COMMAND)
    rows = [row for t in tables(text) if t[0][:2] == ["Verdict", "Slot"] for row in t[1:]]
    assert len(rows) == len(found)
    for verdict, label, kind, pair, difference, n, q, *_ in rows:
        row = found[label.replace("\u200b", "")]
        assert verdict.split(" ", 1)[1].replace(" ", "_") == row["verdict"]
        assert kind == row["kind"]
        assert n == str(row["n_base"])
        assert q == ("-" if row["q_value"] is None else f"{row['q_value']:.2g}")
        for printed, us in (
            (pair.split(" → ")[1], row["variant_us"]),
            (difference.split(" [")[0], row["delta_us"]),
        ):
            number, unit = printed.split(" ")
            assert float(number) * {"us": 1, "ms": 1e3}[unit] == pytest.approx(us, rel=0.005, abs=1e-9)


def test_tables_add_up_as_printed() -> None:
    text = markdown(sample.comparison(), command=COMMAND)
    account = [float(row[-1]) for row in table_with(text, "Part")]
    assert sum(account[:-1]) == pytest.approx(account[-1], abs=1e-9)
    assert account[-1] == -5.10
    for column in range(1, 4):
        numbers = [float(row[column]) for row in table_with(text, "In a step")]
        assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=1e-9)


def test_no_verdict_when_not_comparable() -> None:
    text = markdown(odd.not_comparable(), command=COMMAND).split("## Terms")[0]
    told = re.sub(r"^## .*$", "", text, flags=re.MULTILINE)
    assert not re.search(r"\b(faster|slower|disappeared|shrank|grew|appeared|unchanged|inconclusive)\b", told)
    assert "interval" not in told
    assert "Not comparable" in told
    assert {row[0] for row in table_with(text, "Verdict", "Slot")} == {"-"}


def test_no_communication_is_one_sentence() -> None:
    text = markdown(odd.no_communication(), command=COMMAND)
    assert text.count("No communication was found") == 1
    assert "## Contention" not in text
    assert "## Collectives" not in text


def test_a_rank_is_called_late_only_where_it_is() -> None:
    text = markdown(sample.comparison(), command=COMMAND)
    row = table_with(text, "Collective", "Queue")[0]
    assert row[-1] == "rank 1 (71.0 %, by 1.20 ms, compute) → no rank regularly"
    assert row[2] == "3.70 → 3.70 ms ± 30.0 us"
    assert row[1] == "120 → 120 us"


def test_control_stands_beside_contention() -> None:
    text = markdown(sample.comparison(), command=COMMAND)
    line = "Compute that overlaps no collective in either run: 1.00x as long, ~ +27"
    assert line in text
    assert "inconclusive" not in markdown(odd.not_comparable(), command=COMMAND).split("## Terms")[0]


def test_what_was_recorded_stands_beside_the_pairs_and_is_called_no_cause() -> None:
    text = markdown(sample.comparison(), command=COMMAND)
    assert "<summary>Recorded of these pairs: evidence, not causes</summary>" in text
    row = table_with(text, "Compute", "Beside", "Registers a thread")[0]
    assert row[2:] == [
        "122", "12.5 kB", "25 %", "24 → 8 to 32", "544", "24 → 8 to 32",
        "host to device none → 1.20 ms; within the device none → 40.0 us",
    ]  # fmt: skip
    (bus,) = [row[-1] for row in table_with(text, "Collective", "Count")]
    assert bus == "24 x 544 threads (24 channels) → 8 to 32 x 544 threads (8 to 32 channels)"


def test_what_was_not_recorded_leaves_no_column() -> None:
    text = markdown(odd.unknown(), command=COMMAND).split("## Terms")[0]
    assert "Recorded of these pairs" not in text
    assert "Thread blocks" not in text


def test_unsplit_is_not_called_network() -> None:
    text = markdown(odd.unknown(), command=COMMAND)
    assert "none of these times may be read as network time" in text
    assert "network" not in markdown(sample.comparison(), command=COMMAND)


def test_a_one_sided_slot_shows_nothing_on_the_other_side() -> None:
    text = markdown(sample.comparison(), command=COMMAND)
    row = next(row for row in table_with(text, "Verdict", "Slot") if "appeared" in row[0].split())
    assert row[3] == "0 → 1.30 ms"
    assert row[7] == "0 % → 100 %"


def test_long_tables_end_with_a_count() -> None:
    c = sample.comparison()
    rows = tuple(replace(c.intervals[6], id=str(i)) for i in range(100))
    text = markdown(replace(c, intervals=rows), command=COMMAND)
    assert "No slot is called changed" in text
    assert "30 more rows are in the result file." in text
    assert "100 other" not in text
    assert "90 other slots" in text


def test_figures_are_linked_only_when_asked() -> None:
    assert "![" not in markdown(sample.comparison(), command=COMMAND)
    text = markdown(sample.comparison(), command=COMMAND, figures=(("the account", "r (1).svg"),))
    assert "![the account](r%20%281%29.svg)" in text


@pytest.mark.parametrize("attack", ATTACKS)
def test_names_build_nothing(attack: str) -> None:
    plainly = structure(markdown(odd.hostile("x"), command=COMMAND))
    for text in (f"{attack}x", f"x{attack}", f"x {attack} x"):
        assert structure(markdown(odd.hostile(text), command=COMMAND)) == plainly, text


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 _*`|\\<>[]()!#@$~:/.-+=&;\n\t\x1b\"'^{}%é日"), max_size=30))
@example("1.")
@example("-")
@example("a@b.co")
def test_plain_shows_the_text_and_nothing_else(text: str) -> None:
    shown = name_text(text)
    for before, after, kinds in (
        ("", "\n", {"paragraph_open", "inline", "paragraph_close"}),
        ("- ", "\n", {"bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close",
                      "list_item_close", "bullet_list_close"}),
        ("# ", "\n", {"heading_open", "inline", "heading_close"}),
        ("**a: ", "**\n", {"paragraph_open", "inline", "paragraph_close"}),
    ):  # fmt: skip
        if not shown:
            continue
        tokens = READER.parse(before + plain(text) + after)
        assert {token.type for token in tokens} == kinds
        inline = next(token for token in tokens if token.type == "inline")
        assert all(_words(t) or t.type.startswith("strong") for t in inline.children or ())
        words = "".join(t.content for t in inline.children or () if t.type.startswith("text"))
        assert words.replace("\u200b", "").removeprefix("a: ") == shown
        assert not re.search(r"@\w|(?<!\w)#\d|://|www\.", words)


def test_columns_that_say_nothing_are_left_out() -> None:
    found = table(("a", "b", "c"), [("1", "", "2"), ("3", "", "")], right=(2,))
    assert found == ["| a | c |", "| --- | ---: |", "| 1 | 2 |", "| 3 |  |"]


@given(st.text(max_size=40))
def test_a_cell_stays_one_cell(text: str) -> None:
    found = tables("\n".join(table(("a", "b"), [(plain(text), "end"), ("x", "end")])))
    assert found == [[["a", "b"], [found[0][1][0], "end"], ["x", "end"]]]
    assert found[0][1][0].replace("\u200b", "") == name_text(text)


@given(st.text(alphabet="`~a \n\x1b", max_size=30))
@example("```")
@example("a\n````\n# h")
def test_a_command_stays_in_its_block(command: str) -> None:
    assert fenced(command, "sh")[1:2] == [name_text(command)]
    assert "\n".join(fenced(command, "sh")) in markdown(sample.comparison(), command=command)
    tokens = READER.parse("\n".join([*fenced(command, "sh"), "after"]))
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content.strip() == name_text(command)


def test_readable_names_stay_readable() -> None:
    assert (
        plain("all_reduce in backward before layers.0.mlp.w1 #k")
        == "all_reduce in backward before layers.0.mlp.w1 #k"
    )
    assert plain("-5.29 ms; 0.99; 2.7.1+cu126") == "-5.29 ms; 0.99; 2.7.1+cu126"
    assert plain("www.x.yz") == f"www{BREAK}.x.yz"
    assert plain("step #1") == f"step #{BREAK}1"
    assert plain("a" * 50, width=11) == "aaaaa…aaaaa"


def test_empty_explanation_leaves_no_gap() -> None:
    text = markdown(sample.comparison(explanation=Explanation("", (), None, None)), command=COMMAND)
    assert "\n\n\n" not in text
    assert "**Faster: a step takes 43.1 ms instead of 48.2 ms" in text
