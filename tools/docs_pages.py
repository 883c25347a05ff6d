# SPDX-License-Identifier: Apache-2.0
"""What mkdocs fills into the pages of docs/: tables of metrics, parameters, remedies, switches, launchers, campaigns
and fields of results, and whole pages: the command line and the rules. Nothing of it is committed.

A page names a table as `<!-- generated: NAME -->`. Adding one: a function here, a line in BLOCKS, the mark in a page.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from slowpath.cli.main import slowpath  # noqa: E402
from slowpath.core.plan import LIBRARIES  # noqa: E402
from slowpath.experiments.experiment import RATES, Metric  # noqa: E402
from slowpath.experiments.registry import EXPERIMENTS, METRICS  # noqa: E402
from slowpath.findings.slow_path import ProgramRemedy, Remedy, SlowPath  # noqa: E402
from slowpath.mpi.launchers import (  # noqa: E402
    LAUNCHERS,
    Launcher,
)
from slowpath.mpi.libraries import MPI_LIBRARIES, words_of  # noqa: E402
from slowpath.mpi.settings import SETTINGS  # noqa: E402
from slowpath.run.prepare import campaign_named, shipped_campaigns  # noqa: E402
from slowpath.slowpaths.registry import PROGRAM_REMEDIES, REMEDIES, SLOW_PATHS, codes_helped_by  # noqa: E402

MARK = re.compile(r"<!-- generated: ([\w-]+) -->")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, its last newline included; with outer borders only where a row begins or ends empty."""
    lines = [list(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    border = any(not line[0] or not line[-1] for line in lines)
    written = [" | ".join(line) for line in lines]
    written.insert(1, "|".join(["---"] * len(head)))
    return "".join(f"| {line} |\n" if border else f"{line}\n" for line in written)


def code(words: Iterable[str]) -> str:
    """The words as code, or nothing."""
    text = " ".join(words)
    return f"`{text}`" if text else ""


def changed(remedy: Remedy) -> str:
    """What the remedy changes: variables, a parameter of the engine, or the binding."""
    if remedy.variables:
        return code(f"{name}={value}" for name, value in remedy.variables.items())
    if remedy.parameter:
        return f"parameter {code([remedy.parameter])}"
    return f"binding to a {remedy.bind}"


def remedies() -> str:
    """Every remedy that a variable, a parameter or the launcher toggles, but those that unset a setting."""
    rows = [
        [remedy.name, rule_links(remedy), words_of(remedy.applies), changed(remedy)]
        for remedy in REMEDIES
        if not remedy.unset and (remedy.variables or remedy.parameter or remedy.bind)
    ]
    return table(["remedy", "against", "for", "changes"], rows)


def rule_links(remedy: Remedy | ProgramRemedy) -> str:
    """The rules that it helps against, as links to their page."""
    return ", ".join(f"[{rule}](rules.md#{rule.lower()})" for rule in codes_helped_by(remedy))


def program_remedies() -> str:
    """Every remedy that slowpath prove tries on a program as it is."""
    rows = [
        [
            code([remedy.key]),
            remedy.text,
            rule_links(remedy),
            _set_for_program(remedy),
            ", ".join(remedy.needs) or "nothing",
        ]
        for remedy in PROGRAM_REMEDIES
    ]
    return table(["name", "meaning", "against", "sets", "needs"], rows)


def _set_for_program(remedy: ProgramRemedy) -> str:
    """Return what a run with it gets: variables, a library that is preloaded, a binding."""
    if remedy.state:
        return f"state {code([remedy.state])} ([settings](launching.md#settings))"
    if remedy.bind:
        return f"binding: {remedy.bind}"
    ways = [f"{words_of(way.applies)}: {_variables(way.variables)}" for way in remedy.ways]
    parts = [code([remedy.preload or ""]).replace("``", ""), _variables(remedy.variables), *ways]
    return "; ".join(part for part in parts if part)


def _variables(variables: Mapping[str, str]) -> str:
    return code(f"{name}={value}" for name, value in variables.items())


def settings() -> str:
    """Every state that a campaign can name, library by library."""
    rows = [
        [
            code([setting.name]),
            words_of(setting.applies) + ("" if setting.run else " (not run)"),
            code(f"{name}={value}" for name, value in setting.variables.items()),
        ]
        for setting in sorted(SETTINGS, key=lambda setting: setting.name, reverse=True)
    ]
    return table(["state", "for", "variables"], rows)


def libraries() -> str:
    """Every MPI library that is known by name."""
    rows = [
        [code([library.name]), library.title, library.abi, library.run or "not run"]
        for library in sorted(MPI_LIBRARIES, key=lambda library: LIBRARIES.index(library.name))
    ]
    return table(["name", "library", "binary interface", "run"], rows)


def campaigns() -> str:
    """Every shipped campaign by its title, as slowpath run --list lists them."""
    return table(["campaign", "title"], [[code([name]), campaign_named(name).title] for name in shipped_campaigns()])


def launchers() -> str:
    """How each launcher spells what it is asked for."""
    rows = [
        [
            code([launcher.name]),
            code(map(_spelled, launcher.per_node or (*launcher.map_by[:1], launcher.map_per_node))),
            code(map(_spelled, launcher.hosts)),
            _binding(launcher),
            code(map(_spelled, launcher.export)),
            launcher.verified,
        ]
        for launcher in LAUNCHERS
    ]
    return table(["launcher", "ranks on each node", "nodes by name", "binding to a core", "variables", "run"], rows)


def _spelled(token: str) -> str:
    """A token of a launcher's row with its fields as words: -x {name}={value} as -x NAME=VALUE."""
    return re.sub(r"\{(\w+)\}", lambda field: {"per_node": "N"}.get(field[1], field[1].upper()), token)


def _binding(launcher: Launcher) -> str:
    variables = launcher.bind_variables.get("core", {})
    return code([*launcher.bind.get("core", ()), *(f"{name}={value}" for name, value in variables.items())])


def metrics() -> str:
    """Every metric: what yields it, and its meaning; schema/engine.json has the formulas."""
    rows = [
        [code([metric.name]), "; ".join(yielding(metric)) or "follows from times", metric.meaning]
        for metric in (*METRICS.values(), *RATES)
    ]
    for row, above in reversed(list(pairwise(rows))):
        if above[1] == row[1]:
            above[1] = ""
    return table(["metric", "experiment and pattern", "meaning"], rows)


def _experiments() -> list[dict[str, Any]]:
    described = json.loads((ROOT / "schema" / "engine.json").read_text(encoding="utf-8"))
    return list(described["experiments"])


def parameters(experiment: str) -> str:
    """Every parameter of an experiment, as the engine describes it."""
    described = next(each for each in _experiments() if each["name"] == experiment)
    rows = [
        [code([parameter["name"]]), _values(parameter), code([parameter["default"]]), parameter["meaning"]]
        for parameter in described["parameters"]
        if experiment == "p2p" or parameter["name"] not in _EFFORT
    ]
    return table(["name", "values", "default", "meaning"], rows)


# Those that users name in campaigns; the others print their parameters themselves.
SHOWN_EXPERIMENTS = ("p2p", "coll", "put")
# The page explains them once, for p2p.
_EFFORT = ("samples", "time_limit_s", "warmup_s", "validate")


def _values(parameter: Mapping[str, Any]) -> str:
    """For example: count; bytes, sided; one of the choices."""
    choices = parameter["choices"] or ()
    explained = all(f"{choice}:" in parameter["meaning"] for choice in choices)
    values = parameter["type"] if explained else " ".join(f"`{choice}`" for choice in choices)
    return values + (", sided" if parameter["sided"] else "")


def yielding(metric: Metric) -> list[str]:
    """For example `p2p one_way`, for each pattern whose cells yield the metric."""
    patterns = [(one, pattern) for one in EXPERIMENTS for pattern in one.patterns if metric in pattern.metrics]
    return [code(dict.fromkeys([one.name, pattern.name])) for one, pattern in patterns]


CLI_HEAD = """# The command line

Every command also takes `-h` or `--help`, which says more than what stands here.
"""
WIDTH = 100
COMMANDS_SHARING = 3
_HELP = re.compile(r"^  -h, --help +Show this message and exit\.\n?", re.MULTILINE)
_HELP_ALONE = re.compile(r"^Options:\n(\n|\Z)", re.MULTILINE)

Record = tuple[str, str]  # of --help: an option's names, its text


def cli_page() -> str:
    """Return the whole page as Markdown."""
    contexts = list(_contexts(slowpath, "slowpath", None))
    shared = _shared(contexts)
    sections = [f"## {each.command_path}\n\n```\n{_help(each, shared)}\n```\n" for each in contexts]
    options = _definitions(shared)
    return "\n".join([CLI_HEAD, sections[0], f"## Options of several commands\n\n```\n{options}\n```\n", *sections[1:]])


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    """Yield a context of a command and of its subcommands, in the order of --help."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from _contexts(found, child, context)


def _options(context: click.Context) -> dict[Record, click.Parameter]:
    """Return the options of a command by what --help prints of each."""
    records = [(each.get_help_record(context), each) for each in context.command.params]
    return {record: each for record, each in records if record and isinstance(each, click.Option)}


def _shared(contexts: Sequence[click.Context]) -> list[Record]:
    """Return the options that so many commands describe in the same words, one of each name, in their order."""
    uses = Counter(record for context in contexts for record in _options(context))
    by_name = {_long(record): record for record, count in reversed(uses.most_common()) if count >= COMMANDS_SHARING}
    return [record for _, record in sorted(by_name.items())]


def _long(record: Record) -> str:
    """Return the long name of an option, as --quiet of `-q, --quiet`."""
    return next(word for word in re.split(r"[ ,]+", record[0]) if word.startswith("--"))


def _definitions(records: Sequence[Record]) -> str:
    """Return names and texts in two columns, as --help lays them out."""
    formatter = click.HelpFormatter(width=WIDTH, max_width=WIDTH)
    formatter.write_dl(records)
    return formatter.getvalue().rstrip()


def _help(context: click.Context, shared: Sequence[Record]) -> str:
    """Return a command's --help, in which a line ahead of the example names the shared options."""
    found = _options(context)
    common = [record for record in shared if record in found]
    command = copy.copy(context.command)
    left_out = [found[record] for record in common]
    command.params = [each for each in command.params if each not in left_out]
    command.help = (command.help or "").split("\n\n")[0]
    text = _HELP_ALONE.sub("", _HELP.sub("", command.get_help(context))).rstrip()
    if not common:
        return text
    heading = "" if "\nOptions:\n" in text else "\nOptions:\n"
    body, gap, example = text.rpartition("\n\n")
    return f"{body}\n{heading}  Of several commands: {' '.join(map(_long, common))}{gap}{example}"


BLOCKS: dict[str, Callable[[], str]] = {
    "metrics": metrics,
    **{f"parameters-{name}": partial(parameters, name) for name in SHOWN_EXPERIMENTS},
    "remedies": remedies,
    "program-remedies": program_remedies,
    "settings": settings,
    "libraries": libraries,
    "campaigns": campaigns,
    "launchers": launchers,
}


def filled(page: str) -> str:
    """Return the text of a page with its generated tables."""
    return MARK.sub(lambda mark: BLOCKS[mark[1]](), page)


def rules_page(paths: Sequence[SlowPath]) -> str:
    """All rules, docs/reference/rules.md."""
    lines = [
        "# Rules",
        "",
        "The slow paths that Slowpath can name. `slowpath explain CODE` prints one. [Findings](findings.md) says what "
        "observed, explained and proven mean. [Remedies](remedies.md) lists each library's variables.",
        "",
    ]
    for path in paths:
        lines += [f"## {path.code}", "", f"**{path.title}.** {path.summary}", ""]
        lines += [f"*Fix:* {path.remedy}", "", f"*Found:* {path.needs}", ""]
    return re.sub(r"docs/([\w-]+)/([\w-]+)\.md", _link, "\n".join(lines))


def _link(page: re.Match[str]) -> str:
    folder = "" if page[1] == "reference" else f"../{page[1]}/"
    return f"[{page[2]}]({folder}{page[2]}.md)"


def whole_pages() -> dict[str, str]:
    """Return the pages that are generated whole, by their paths below docs/."""
    return {"reference/cli.md": cli_page(), "reference/rules.md": rules_page(SLOW_PATHS)}


def built_pages() -> dict[str, str]:
    """Return all pages as mkdocs sees them, by their paths below docs/."""
    docs = ROOT / "docs"
    written = {str(page.relative_to(docs)): page for page in sorted(docs.rglob("*.md"))}
    return {name: filled(page.read_text(encoding="utf-8")) for name, page in written.items()} | whole_pages()


def on_files(files: Any, config: Any) -> Any:
    """Add the whole pages (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    for name, text in whole_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the tables of a page (a hook of mkdocs)."""
    return filled(markdown)
