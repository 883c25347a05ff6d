# SPDX-License-Identifier: Apache-2.0
"""Tables of campaigns, written and read back."""

from __future__ import annotations

import tomllib

import pytest

from slowpath.core.toml import inline, table_text


@pytest.mark.parametrize("name", ["plain", 'a "quoted" name', "back\\slash", "\U0001f40c", "\u00e4\x7f", "#x"])
def test_any_name_is_read_back_as_it_was(name: str) -> None:
    values = {"name": name, "copies": 2, "unset": [name], "parameters": {"message_bytes": ["8", "64"]}}
    text = table_text("cells", values, ["from here"]) + table_text("cells", values)
    assert text.startswith("# from here\n")
    assert tomllib.loads(text) == {"cells": [values, values]}


def test_a_table_that_stands_alone_and_a_mapping_on_one_line() -> None:
    text = table_text("campaign", {"name": "x", "minimum_effect": 0.03}, single=True)
    assert text == '[campaign]\nname = "x"\nminimum_effect = 0.03\n'
    made = table_text("environment", {"name": "x", "variables": inline({"A": "1 2"})})
    assert 'variables = {A = "1 2"}' in made
    assert tomllib.loads(made)["environment"][0]["variables"] == {"A": "1 2"}


@pytest.mark.parametrize("words", [[], ["8"], [str(one) for one in range(2000)], ["8", "a b"], ["\x7f"]])
def test_lists_are_written_alike_however_long(words: list[str]) -> None:
    text = table_text("cells", {"parameters": {"message_bytes": words}})
    shown = ", ".join(f'"{word}"' for word in words).replace("\x7f", "\\u007f")
    assert f"message_bytes = [{shown}]\n" in text
    assert tomllib.loads(text) == {"cells": [{"parameters": {"message_bytes": words}}]}
