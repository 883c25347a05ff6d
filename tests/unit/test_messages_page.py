# SPDX-License-Identifier: Apache-2.0
"""The page of messages: which strings of a source are templates that a user reads."""

import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import messages_page

SOURCE = '''
"""A docstring is not shown to any user of the program."""
class LaunchError(EnvironmentFailure): ...
class EnvironmentFailure(SlowpathError): ...
def no_disk(path) -> EnvironmentFailure: ...
def f(one, why):
    raise ValueError("a defect of the program is not shown as a message.")
    raise no_disk(f"{one.path}: the disk is " + "full, so nothing can be written.")
    raise LaunchError("the launcher did not start.")
    label = "part of a sentence"
    field = means("what a field means is on the page of results.")
    return f"{one.subject} takes {ratio(one)} as long as {words(f'the first message of {each} B.')}."
SLOW_PATH = SlowPath(title="A title is on the page of its rule.", rivals=(Rival("The processor raises its clock."),))
'''


def test_templates_are_sentences_with_named_places_and_errors_are_marked() -> None:
    tree = ast.parse(SOURCE)
    errors = messages_page.error_names([tree])
    assert errors == {"SlowpathError", "EnvironmentFailure", "LaunchError", "no_disk"}
    assert list(messages_page.templates(tree, errors)) == [
        ("{path}: the disk is full, so nothing can be written.", True),
        ("the launcher did not start.", True),
        ("{subject} takes {ratio} as long as {words}.", False),
        ("the first message of {each} B.", False),
        ("The processor raises its clock.", False),
    ]


def test_what_another_generated_page_shows_is_not_listed_again() -> None:
    listed = messages_page.page([]).splitlines()
    sentence = next(line for line in listed if line.startswith("The cost depends on the bytes"))
    elsewhere = f"| `x` | {sentence[0].lower()}{sentence[1:-1]} \\| more |"
    assert messages_page.page([elsewhere]).splitlines() == [line for line in listed if line != sentence]
