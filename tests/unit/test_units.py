# SPDX-License-Identifier: Apache-2.0
"""Bytes, times, ratios and rates: read and shown."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowpath.core.errors import UsageError
from slowpath.core.units import (
    MAX_BYTES,
    expand_values,
    format_bytes,
    format_rate,
    format_ratio,
    format_time,
    parse_bytes,
    ratio_words,
    share_words,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("4096", 4096),
        ("1KiB", 1024),
        ("1GiB+1", 2**30 + 1),
        ("2MiB-64", 2**21 - 64),
        ("1GiB+1MiB-1", 2**30 + 2**20 - 1),
        ("8388607TiB", 8388607 * 2**40),
        (str(MAX_BYTES), MAX_BYTES),
        ("007", 7),
    ],
)
def test_parse_bytes(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1GB", "example 1GiB"),
        ("1G", "example 1GiB"),
        ("1kib", "example 1KiB"),
        ("1 KiB", "example 1KiB"),
        ("1.5MiB", "example 1536KiB"),
        ("1e9", "example 1000000000"),
        ("-1", "example 1"),
        ("", "example 4096, 1KiB"),
        (str(2**63), "up to 2^63 - 1"),
        ("8388608TiB", "up to 2^63 - 1"),
        ("9" * 5000, "up to 2^63 - 1"),
        ("1KiB-2KiB", "example 4096, 1KiB"),
        ("1KiB+", "example 4096, 1KiB"),
        ("1GiB++1", "example 4096, 1KiB"),
        ("0x10", "example 4096, 1KiB"),
        ("１", "example 1"),  # a digit of another alphabet
        ("1\n", "example 1"),
    ],
)
def test_wrong_bytes_are_refused_in_one_line(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_bytes(text)
    assert hint in str(error.value)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value).replace(text, "")
    assert len(str(error.value)) < 160


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8", [8]),
        ("8,1KiB", [8, 1024]),
        ("1KiB..8KiB*2", [1024, 2048, 4096, 8192]),
        ("0..64+16", [0, 16, 32, 48, 64]),
        ("0..60+16", [0, 16, 32, 48]),
        ("1GiB..1GiB+4+2", [2**30, 2**30 + 2, 2**30 + 4]),
        ("8..32*2,1MiB", [8, 16, 32, 2**20]),
    ],
)
def test_lists_and_ranges(text: str, values: list[int]) -> None:
    assert expand_values(text) == values


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0..64", "is not a range"),
        ("0..64*2", "is not a range"),
        ("1..64*1", "is not a range"),
        ("1..64+0", "is not a range"),
        ("64..1+1", "is not a range"),
        ("1..99999999+1", "range of up to 100000 values"),
        ("8,", "'' is not a number of bytes"),
    ],
)
def test_wrong_ranges(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        expand_values(text)


@given(st.integers(0, MAX_BYTES))
def test_shown_bytes_are_exact(count: int) -> None:
    words = format_bytes(count).split(" ")
    signs = [1, *(1 if word == "+" else -1 for word in words[2::3])]
    units = [1024 ** ("B", "KiB", "MiB", "GiB", "TiB").index(word) for word in words[1::3]]
    assert sum(s * Fraction(n) * u for s, n, u in zip(signs, words[0::3], units, strict=True)) == count


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1536, "1536 B"),
        (8112, "8112 B"),
        (8191, "8 KiB - 1 B"),
        (50_021, "50021 B"),
        (2**16 + 1, "64 KiB + 1 B"),
        (2**20 - 1, "1 MiB - 1 B"),
        (2**20 - 80, "1048496 B"),
        (868 * 2**10, "868 KiB"),
        (16 * 2**20, "16 MiB"),
        (3 * 2**19, "1.5 MiB"),
        (2**30 + 1, "1 GiB + 1 B"),
        (2**30 + 2**16, "1 GiB + 64 KiB"),
        (2**21 - 64, "2 MiB - 64 B"),
        (10**9, "1000000000 B"),
        (MAX_BYTES, f"{MAX_BYTES} B"),
    ],
)
def test_format_bytes(count: int, shown: str) -> None:
    assert format_bytes(count) == shown


@pytest.mark.parametrize(
    ("value", "half_width", "shown"),
    [
        (2.919e-3, 0.05e-3, "2.919 ms"),
        (2.919e-3, 0.5e-3, "2.92 ms"),
        (2.919e-3, 1.5e-3, "2.9 ms"),
        (2.919e-3, None, "2.92 ms"),
        (1.7855e-6, 1e-8, "1.786 us"),
        (0.4567, 0.02, "457 ms"),
        (45.67, 30.0, "46 s"),
        (1234.0, 700.0, "1230 s"),
        (999.9996e-6, 1e-9, "1.0000 ms"),
        (999.96e-6, 1e-6, "1.0000 ms"),
        (999.9e-6, None, "1.000 ms"),
        (99.4e-6, None, "99.4 us"),
        (2.9e-3, 0.0, "2.90 ms"),
        (0.0, None, "0 ns"),
        (3e-10, None, "0.300 ns"),
    ],
)
def test_format_time(value: float, half_width: float | None, shown: str) -> None:
    assert format_time(value, half_width) == shown


def test_format_ratio_and_rate() -> None:
    assert format_ratio(3.2884) == "3.29"
    assert format_ratio(3.2884, 0.02) == "3.288"
    assert format_ratio(0.507) == "0.507"
    assert format_rate(46.02e9) == "46.0 GB/s"
    assert format_rate(46.02e9, 1e9) == "46.0 GB/s"
    assert format_rate(1.5e6, unit="msg/s") == "1.50 Mmsg/s"


def test_a_number_has_no_more_digits_than_its_interval_and_never_more_than_four() -> None:
    assert ratio_words(0.916705, (0.916640, 0.916771)) == "0.9167x [0.9166, 0.9168]"
    assert ratio_words(3.2435, (3.1, 3.4)) == "3.24x [3.10, 3.40]"
    assert ratio_words(3.2435, (2.1, 4.9)) == "3.2x [2.1, 4.9]"
    assert ratio_words(3.2435, None) == "3.24x"
    assert ratio_words(74.3, (1.31, 4088.0)) == "74x [1.3, 4088]"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_never_shown_as_a_number(value: float) -> None:
    for show in (format_time, format_ratio, format_rate):
        with pytest.raises(ValueError, match="finite"):
            show(value)


@pytest.mark.parametrize(
    ("share", "interval", "words"),
    [
        (0.92, (0.88, 0.95), "92 % [88, 95]"),
        (0.99, (0.99, 57.34), "at least 99 %"),
        (0.44, (-0.82, 0.61), "at most 61 %"),
        (-0.02, (-0.35, 0.0), "none"),
        (-0.07, (-0.78, 0.05), "at most 5 %"),
        (0.5, (-3.0, 4.0), "an unknown share"),
        (0.5, None, "50 %"),
        (1.3, (1.13, 1.4), "100 %"),
        (1.13, (0.9, 1.2), "100 % [90, 100]"),
        (1.3, None, "100 %"),
    ],
)
def test_a_share_whose_excess_nearly_vanished_is_said_by_the_end_that_decides(
    share: float, interval: tuple[float, float] | None, words: str
) -> None:
    assert share_words(share, interval) == words
