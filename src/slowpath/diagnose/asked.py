# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis was asked for (`--only`): rules and questions, and which cells of the survey can show them. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from slowpath.core.campaign import Campaign
from slowpath.core.errors import UsageError
from slowpath.core.results import ContrastResult, Finding, Results
from slowpath.diagnose.ranks.shipped import group_names
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS, SLOW_PATHS

# Groups of the survey's cells in which a slow path can be seen. One that is not here takes the whole survey.
GROUPS: Mapping[str, tuple[str, ...]] = {path.code: path.probes for path in SLOW_PATHS if path.probes}
MOST_CLOSE = 3  # names that a word may have meant
MOST_OF_WORD = 40  # characters of a word that is shown
_CONTROL = "control"  # the survey's A/A control: without it nothing warns of a disturbed machine


@dataclass(frozen=True)
class Asked:
    """Codes of rules and names of the survey's contrasts; both empty: everything."""

    rules: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether anything in particular was asked for."""
        return bool(self.rules or self.questions)

    @property
    def words(self) -> list[str]:
        """As `asked_for` takes them."""
        return [*sorted(self.rules), *sorted(self.questions)]

    def wants(self, finding: Finding, seen_in: Results) -> bool:
        """Whether the finding, one that is folded into it or a contrast under it was asked for.

        Args: seen_in: results of the run in which it was observed.
        """
        if not self or finding.rule in self.rules:
            return True
        if any(one.partition(":")[0] in self.rules for one in finding.merged):
            return True
        return any(
            contrast.group in self.questions for contrast in seen_in.contrasts if contrast.id in finding.contrasts
        )

    def wants_contrast(self, contrast: ContrastResult, survey: Results) -> bool:
        """Whether a contrast of the survey may show what was asked for."""
        if not self or contrast.group in self.questions:
            return True
        group = survey.cell(contrast.a.cell).group
        return any(group in GROUPS.get(rule, (group,)) for rule in self.rules)

    def groups(self, survey: Campaign) -> set[str]:
        """Groups of the survey's cells that can show it, and the A/A control."""
        there = {group.name for group in survey.cells}
        if not self or any(rule not in GROUPS for rule in self.rules):
            return there
        kept = {group for rule in self.rules for group in GROUPS[rule]}
        kept |= {group for name, group in _questions(survey).items() if name in self.questions}
        return there & {_CONTROL, *kept}

    def narrowed(self, survey: Campaign) -> Campaign:
        """The survey with these groups alone."""
        return with_groups_alone(survey, self.groups(survey)) if self else survey


def with_groups_alone(survey: Campaign, kept: Collection[str]) -> Campaign:
    """The survey with these groups of cells, and the A/A control."""
    kept = {_CONTROL, *kept}
    return replace(
        survey,
        cells=[group for group in survey.cells if group.name in kept],
        contrasts=[contrast for contrast in survey.contrasts if contrast.cells in kept],
    )


def asked_for(words: Sequence[str], survey: Campaign) -> Asked:
    """What `--only` means.

    Args: words: codes or names of rules, names of the survey's contrasts.  survey: that of this machine.
    Raises: UsageError: a word is neither, or nothing of this machine's survey can show it.
    """
    questions = _questions(survey)
    rules, named = set[str](), set[str]()
    for word in words:
        wanted = word.strip().lower()
        codes = {one.code for one in SLOW_PATHS if wanted == one.name.lower() or _is_code(wanted, one.code)}
        same = {name for name in questions if name.lower() == wanted}
        if not codes and not same:
            known = [*(one.code for one in SLOW_PATHS), *(one.name for one in SLOW_PATHS), *questions]
            said = word if len(word) <= MOST_OF_WORD else f"{word[:MOST_OF_WORD]}..."
            raise UsageError(
                f"--only '{said}': is neither a rule (slowpath explain) nor a question of the "
                f"survey{_close(wanted, known)}"
            )
        rules |= codes
        named |= same
    if of_programs := sorted(rules & {path.code for path in PROGRAM_SLOW_PATHS}):
        raise UsageError(f"--only {of_programs[0]}: is visible only in programs: use slowpath watch")
    there = {group.name for group in survey.cells}
    for code in sorted(rules):
        if not named and not there & set(GROUPS.get(code, there)):
            by_ranks = group_names() & set(GROUPS[code])
            why = "it needs more ranks (--ranks)" if by_ranks else "this machine has no GPU for it"
            raise UsageError(f"--only {code}: needs {' or '.join(GROUPS[code])}, and {why}")
    return Asked(frozenset(rules), frozenset(named))


def _close(word: str, known: Sequence[str]) -> str:
    """`; close: page kind, short pages`: a few names that are spelt nearly so or hold the word, or none."""
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(word, by_lower, n=MOST_CLOSE, cutoff=0.6)
    near += [one for one in by_lower if word and word in one]
    found = list(dict.fromkeys(by_lower[one] for one in near))[:MOST_CLOSE]
    return f"; close: {', '.join(found)}" if found else ""


def _is_code(word: str, code: str) -> bool:
    found = re.fullmatch(r"(?:sp)?(\d{1,3})", word)
    return found is not None and code == f"SP{int(found[1]):03d}"


def _questions(survey: Campaign) -> dict[str, str]:
    """Names of contrasts -> their group of cells, the A/A control left out."""
    return {contrast.name: contrast.cells for contrast in survey.contrasts if not contrast.control}
