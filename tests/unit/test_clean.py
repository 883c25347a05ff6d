# SPDX-License-Identifier: Apache-2.0
"""Text from elsewhere in each kind of output: what a terminal, a spreadsheet, Markdown or a shell would act on is seen
instead, and all else is as it was.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
import subprocess
import unicodedata
from itertools import pairwise

import click
import pytest
from markdown_it import MarkdownIt

from slowpath.cli.main import exit_code
from slowpath.cli.streams import Cleaned, cleaned_streams
from slowpath.cli.telling import TerminalLines
from slowpath.core import clean

PLAIN = "eager, 8 B: 1.20 µs [1.1, 1.3] × 2 – Zürich 日本語 عربى 🙂 'a' \\u001b"
FORMULAS = [
    "=HYPERLINK(1)",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "＝1",
    "=",
    "-",
    "a;=1",
    "a\t@b",
    "a\n+1",
]
NUMBERS = ["-1.5", "+2", "-3e-7", "-0", "1e9", "-inf", ""]
MARKUP = [
    "![x](http://e.x/a.png)", "[x](javascript:alert(1))", "[x][y]", "<img src=x onerror=y>", "<http://e.x>", "**b** _i",
    "`code`", "a|b", "# head", "> said", "- item", "1. item", "2) item", "+ item", "* item", "---", "===", "&lt;b&gt;",
    "&#x3c;b", "http://e.x/y", "see https://e.x", "www.e.x", "~~gone~~", "$x$", "\\", "a\n\n# b", "    code", "\tcode",
    "| a | b |", "[x]: http://e.x", "```", "mailto:a@e.x",
]  # fmt: skip


def acts(character: str) -> bool:
    """Whether Unicode says that it is a control, a mark of direction or of format, half of a pair, or a separator."""
    number = ord(character)
    seen = 0x600 <= number <= 0x8FF or 0x11000 <= number < 0x14000  # signs of Arabic, Kaithi, Egyptian
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and (not seen or number == 0x61C)


ACTING = [character for character in map(chr, range(0x110000)) if acts(character)]


@pytest.mark.parametrize("function", [clean.text, clean.line, clean.csv_field])
def test_every_character_that_acts_is_escaped(function) -> None:
    kept = "\t\n" if function is not clean.line else ""
    for character in ACTING:
        if character not in kept:
            shown = function(f"a{character}b")
            assert shown.startswith("a\\u"), hex(ord(character))
            assert json.loads(f'"{shown}"') == f"a{character}b"


@pytest.mark.parametrize("function", [clean.text, clean.line, clean.stream, clean.csv_field])
def test_what_is_seen_is_as_it_was(function) -> None:
    assert function(PLAIN) == PLAIN


def test_line_feeds_and_tabs_are_kept_only_where_there_can_be_several_lines() -> None:
    assert clean.text("a\n\tb\r") == "a\n\tb\\u000d"
    assert clean.line("a\n\tb\r") == "a\\u000a\\u0009b\\u000d"


def test_bytes_of_names_of_files_reach_the_stream_but_not_as_controls() -> None:
    assert clean.stream("a\udcffb") == "a\udcffb"
    assert clean.stream("a\udc9bb") == "a\\udc9bb"


@pytest.mark.parametrize("words", FORMULAS)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_field_is_a_formula(words: str, separator: str) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["x", clean.csv_field(words), 1])
    for row in csv.reader(io.StringIO(out.getvalue()), delimiter=separator, quoting=csv.QUOTE_NONE):
        for field in row:
            assert field.lstrip(' "')[:1] not in (*"=+-@＝", "\t", "\r")


@pytest.mark.parametrize("words", NUMBERS)
def test_numbers_stay_numbers(words: str) -> None:
    assert clean.csv_field(words) == words


def test_fields_that_are_no_formula_are_as_they_were() -> None:
    for words in ("a=b", "a - b", "x; y", "1-2", "mpich 4.2 -O2"):
        assert clean.csv_field(words) == words


@pytest.mark.parametrize("words", MARKUP)
def test_markdown_shows_the_words_and_nothing_else(words: str) -> None:
    made = MarkdownIt("gfm-like", {"linkify": False}).parse(clean.markdown(words))
    assert [one.type for one in made] == ["paragraph_open", "inline", "paragraph_close"]
    children = made[1].children or []
    assert {one.type for one in children} <= {"text", "text_special", "html_inline"}
    assert all(one.content == "<!-- -->" for one in children if one.type == "html_inline")
    seen = "".join(one.content for one in children if one.type != "html_inline")
    assert seen == clean.line(words).strip(" ")


@pytest.mark.parametrize("words", ["a|b", "`|`", "a\\|b", "![](x)|"])
def test_a_table_of_markdown_keeps_its_columns(words: str) -> None:
    made = MarkdownIt("gfm-like", {"linkify": False}).parse(
        f"| a | b |\n| --- | --- |\n| {clean.markdown(words)} | 1 |\n"
    )
    cells = [one.content for before, one in pairwise(made) if before.type == "td_open"]
    assert len(cells) == 2
    assert cells[1] == "1"


def test_links_that_need_no_markup_are_none() -> None:
    """GitHub's autolinks, of which no parser is at hand: scheme, www and mail are each taken apart."""
    assert clean.markdown("http://e.x") == "http\\://e.x"
    assert clean.markdown("www.e.x") == "www\\.e.x"
    assert clean.markdown("openmpi@5.0.3") == "openmpi@<!-- -->5.0.3"


@pytest.mark.parametrize("name", ["A", "A B", "A;echo b", "$(echo b)", "A\nB"])
def test_names_of_variables_run_nothing(name: str) -> None:
    words = [*clean.shell_assignments({name: "x; echo bad"}), "printenv", shlex.quote(name)]
    done = subprocess.run(["sh", "-c", " ".join(words)], capture_output=True, text=True)
    assert done.stdout == "x; echo bad\n"


def test_the_streams_of_every_command_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", "a\x1b]52;c;eA==\x07\u202eb\rc\nd"]) != 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "a\\u001b]52;c;eA==\\u0007\\u202eb\\u000dc\\u000ad" in err
    assert err.count("\n") == 1


def test_the_bar_moves_the_cursor_and_its_words_do_not() -> None:
    stream = io.StringIO()
    lines = TerminalLines(Cleaned(stream))  # type: ignore[arg-type]
    lines.passing("a\x1b[2Jb\nc")
    lines("d\x1b[2Je")
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().startswith("\ra\\u001b[2Jb\\u000ac")


def test_streams_are_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    with cleaned_streams():
        print("\x1b[2J\x9b2J a\tb")
    print("\x1b[0m", end="")
    assert capsys.readouterr().out == "\\u001b[2J\\u009b2J a\tb\n\x1b[0m"


def test_bytes_that_click_writes_are_cleaned_too(capfd: pytest.CaptureFixture[str]) -> None:
    with cleaned_streams():
        click.echo('{"a": "\x9b2J"}'.encode())
    assert capfd.readouterr().out == '{"a": "\\u009b2J"}\n'
