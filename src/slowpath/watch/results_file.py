# SPDX-License-Identifier: Apache-2.0
"""Read results.json of a watch, whoever wrote it: typed, within the limits, and complete in itself. And its schema."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from slowpath.core.decoding import DAMAGE, Versioned, decoded, why
from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes
from slowpath.core.limits import FILE_BYTES
from slowpath.core.results_schema import NULL, Schema, has, reason_where, schema_of
from slowpath.watch.results import WATCH_SCHEMA, WatchFinding, WatchResults

RESULTS_FILE: Final = "results.json"
_ANEW = "build it anew from the record: slowpath report WATCH"


def read_watch_results(folder: Path) -> WatchResults:
    """results.json of a watch.

    Raises: RecordError: missing, damaged, beyond the limits, of another schema, or not whole in itself.
    """
    path = folder / RESULTS_FILE
    return decode_watch_results(read_bytes(path, FILE_BYTES[RESULTS_FILE], within=folder), path)


def decode_watch_results(content: bytes, path: Path) -> WatchResults:
    """From the bytes of a results.json; `path` names it in errors.  Raises: RecordError."""
    schema = decoded(
        content, Versioned, path, "name a folder that slowpath watch wrote", "is not a results.json"
    ).schema
    if schema > WATCH_SCHEMA:
        raise RecordError(f"{path}: was written by a newer slowpath (schema {schema}); update slowpath to read it")
    try:
        results = msgspec.json.decode(content, type=WatchResults)
        require_whole(results)
    except (*DAMAGE, ValueError) as error:
        raise RecordError(f"{path}: is damaged: {why(error)}; {_ANEW}") from error
    return results


def require_whole(results: WatchResults) -> None:
    """Raises: ValueError: something names a class, a place or a rank that is not there."""
    sites, classes = range(len(results.sites)), {one.id for one in results.classes}
    if len(classes) < len(results.classes):
        raise ValueError("two classes have one id")
    if len({one.id for one in results.findings}) < len(results.findings):
        raise ValueError("two findings have one id")
    _known(sites, (one.site for one in results.classes), "a class", "place")
    _known(sites, (one.site for one in results.waits if one.site is not None), "a wait", "place")
    _known(sites, (site for one in results.findings for site in one.sites), "a finding", "place")
    _known(classes, (price.class_id for one in results.findings for price in one.prices), "a price", "class")
    if any(one.end_s < one.start_s for one in results.slices):
        raise ValueError("a slice ends before it starts")


def _known(known: Iterable[int], asked: Iterable[int], who: str, what: str) -> None:
    unknown = next((one for one in asked if one not in known), None)
    if unknown is not None:
        raise ValueError(f"{who} is about {what} {unknown}, which is not there")


def watch_results_schema() -> Schema:
    """Return the JSON Schema of a watched program's results.json; tools/generate-docs writes it into schema/."""
    about = "docs/reference/watch-results.md in words. SI units, numbers unrounded. null means missing."
    title = "results.json: what a watched program does in MPI, and what it loses"
    return schema_of(WatchResults, title, about, {WatchFinding: [reason_where("saved_reason", has("saved_s", NULL))]})
