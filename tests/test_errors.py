"""The tree of errors: bases of each class, errors made from a message alone, and pickling."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import warnings
from pathlib import Path

import pytest

import jeton
from jeton import errors

BUILTINS = {
    errors.JetonError: Exception,
    errors.ConfigError: ValueError,
    errors.FormatError: ValueError,
    errors.UnsupportedFeatureError: errors.FormatError,
    errors.UnknownTokenError: KeyError,
    errors.SpecialTokenError: ValueError,
    errors.InvalidTextError: ValueError,
    errors.ChatTemplateError: ValueError,
    errors.DecodeError: ValueError,
    errors.DownloadError: OSError,
    errors.TrainingError: RuntimeError,
    errors.MissingDependencyError: ImportError,
    errors.ShardError: RuntimeError,
}


def test_the_tree_is_complete() -> None:
    classes = {value for _, value in inspect.getmembers(errors, inspect.isclass)}
    assert classes == {*BUILTINS, errors.LossyConversionWarning}
    assert set(errors.__all__) == {value.__name__ for value in classes}


@pytest.mark.parametrize("error", BUILTINS)
def test_each_error_is_a_jeton_error_and_a_builtin(error: type[errors.JetonError]) -> None:
    assert issubclass(error, errors.JetonError)
    assert issubclass(error, BUILTINS[error])


@pytest.mark.parametrize("error", BUILTINS)
def test_an_error_made_from_a_message_prints_it(error: type[errors.JetonError]) -> None:
    """The core creates an error from its message and sets attributes later. A plain KeyError would print quotes."""
    made = error('the id 7 isn\'t "there"')
    assert str(made) == 'the id 7 isn\'t "there"'
    assert vars(made).pop("marked") == str(made)
    assert not [name for name, value in vars(made).items() if value is not None]


@pytest.mark.parametrize("error", BUILTINS)
def test_facts_survive_pickling(error: type[errors.JetonError]) -> None:
    facts = [name for name in vars(error("message")) if name != "marked"]
    made = error("message", **{name: name.upper() for name in facts})
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is error
    assert str(again) == "message"
    assert vars(again) == vars(made) == {name: name.upper() for name in facts} | {"marked": "message"}


def test_attributes_set_afterwards_survive_too() -> None:
    made = errors.UnknownTokenError("id 7 at position 2")
    made.id, made.position = 7, 2
    again = pickle.loads(pickle.dumps(made))
    assert (again.id, again.position) == (7, 2)


@pytest.mark.parametrize("error", BUILTINS)
def test_a_prefix_is_part_of_the_text(error: type[errors.JetonError]) -> None:
    made = error(f"{errors.keyword('a', 1)} is wrong")
    made.prefix("rows.jsonl: ")
    assert str(made) == "rows.jsonl: a=1 is wrong"


def test_options_are_marked_in_a_message_and_plain_in_its_text() -> None:
    message = (
        f"{errors.keyword('sizes[1]', 'x')} is no size; {errors.named('end_of_word')}, {errors.keyword('pattern')}"
    )
    made = errors.ConfigError(message)
    made.prefix("text 1: ")
    again = pickle.loads(pickle.dumps(made))
    assert str(again) == again.args[0] == "text 1: sizes[1]='x' is no size; end_of_word, pattern="
    assert again.marked.split(errors.MARK)[1::2] == ["sizes[1]='x'", "end_of_word", "pattern="]
    assert again.option == "sizes"
    assert errors.ConfigError(message, option="other").option == "other"
    assert errors.ConfigError(f"pass {errors.keyword('pattern')}").option is None


# Keyword arguments of other functions, and members of files.
UNMARKED = (
    "max_length=",
    "pass encode(dropout=…)",
    "dropout=",
    "do_basic_tokenize=",
    "jeton.prune(tok, size=)",
    "truncation=",
)


def test_messages_mark_the_options_that_they_name() -> None:
    """An unmarked keyword argument in a message would not become an option on the command line."""
    classes = {error.__name__ for error in BUILTINS}
    spelled = re.compile(r"(?<![\w.\-\[?&/<(])[a-z][a-z_]*=(?!=)")
    found = []
    for path in Path(jeton.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in classes:
                texts = [part.value for arg in call.args for part in ast.walk(arg) if isinstance(part, ast.Constant)]
                found += [(path.name, text) for text in texts if isinstance(text, str) and spelled.search(text)]
    assert [(name, text) for name, text in found if not any(known in text for known in UNMARKED)] == []


def test_long_values_and_those_without_a_text_are_short_in_a_message() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert errors.keyword("x", Broken()).strip(errors.MARK) == "x=<Broken>"
    assert errors.keyword("x", "y" * 100).strip(errors.MARK) == f"x='{'y' * 79}… (str)"
    assert len(errors.keyword("x", "y" * 100, most=400).strip(errors.MARK)) == 104


def test_the_warning_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="lost"):
        warnings.warn("lost", errors.LossyConversionWarning, stacklevel=1)
