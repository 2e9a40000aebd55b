"""Checks an answer to the exercise of a lesson: ``python -m jeton.reference.check step04 my_file.py``.

Without a file, the command prints the exercise; without a lesson, the list of exercises. The exit status is 0 if all
functions of the exercise that the file defines pass all cases, 1 if one fails or the file defines none of them, and 2
if the command is wrong.

The file runs in a separate process, which writes the result of each case as a line of a report file. The main process
reads the report, and ends the separate process if a case takes too long. So endless loops, exceptions and exits of the
interpreter all give a message.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

if not __package__:  # run as a file: `python check.py`
    __import__("running")

from .contents import language, lessons
from .exercises import Case, Raises, Task
from .running import unless_closed

__all__ = ["main"]

FOLDER = Path(__file__).resolve().parent
PACKAGE = "jeton.reference"
PROGRAM = f"python -m {PACKAGE}.check" if __package__ == PACKAGE else f"python {Path(__file__)}"
SHOWN = 300  # characters of a value that are shown
CHILD = "--run-cases"  # internal option with four values: step, file of the reader, file of the report, function name

ENGLISH = {
    "ask": (
        "Write one or all of the functions into a file, then: {program} {step} my_file.py\n"
        "It may import earlier lessons, for example: from jeton.reference.step03_merge import merge"
    ),
    "call": "{call}",
    "bad_seconds": "--seconds {text!r} is not a number of seconds, which is greater than 0 and finite, such as 2.5",
    "changed": "changes its argument: the caller's list must stay as it was",
    "correct": "Correct so far.",
    "crashed": "{name}: the process ended with status {status} in case {number} of {total}",
    "expected": "expected  {value}",
    "failed": "{name}: {failed} of {total} cases failed; the first of them is case {number}:",
    "got": "got       {value}",
    "help": (
        "Usage: {program} [STEP [FILE]] [--seconds N]\n\n"
        "Check an answer to the exercise of a lesson.\n\n"
        "  STEP         a lesson, such as step04; without it, the exercises are listed\n"
        "  FILE         the file with your functions; without it, the exercise is printed\n"
        "  --seconds N  seconds that one case may take; default: 10\n"
        "  --help       print this text"
    ),
    "hint": "hint: {hint}",
    "import": "{file} does not run: {error}",
    "long": "{start} … ({length} characters)",
    "missing": "{file} defines none of the functions that this exercise asks for: {names}",
    "no_file": "{file}: no such file",
    "no_option": "there is no option {option}; there are: --seconds, --help",
    "no_step": "there is no exercise {step!r}; there are: {steps}",
    "not_yet": "not written yet: {names}",
    "passed": "{name}: {total} of {total} cases passed",
    "raised": "raised    {error}",
    "slow": "{name}: case {number} of {total} gave no answer within {seconds:g} seconds: an endless loop, or too slow",
    "slow_import": "{file} did not end within {seconds:g} seconds: an endless loop outside of functions?",
    "solved": "Solved.",
    "too_many": "a lesson and a file are expected, and nothing after them; got also: {rest}",
    "unsolved": "Not solved yet.",
    "where": "{error} (line {line} of {file})",
}
CHINESE = {
    "ask": (
        "把其中一个或全部函数写进自己的文件，然后运行：{program} {step} my_file.py\n"
        "文件中可以导入前面的课，例如：from jeton.reference.step03_merge import merge"
    ),
    "call": "{call}",
    "bad_seconds": "--seconds {text!r} 不是有效的秒数：应为大于 0 的有限数，例如 2.5",
    "changed": "修改了传入的参数：调用者的列表应当保持不变",
    "correct": "已编写的部分全部正确。",
    "crashed": "{name}：运行第 {number} 个用例（共 {total} 个）时进程退出，状态码 {status}",
    "expected": "应得到  {value}",
    "failed": "{name}：{total} 个用例中有 {failed} 个未通过，第一个是用例 {number}：",
    "got": "实际为  {value}",
    "help": (
        "用法：{program} [STEP [FILE]] [--seconds N]\n\n"
        "检查某一课练习的答案。\n\n"
        "  STEP         某一课，如 step04；不给出时列出全部练习\n"
        "  FILE         写有你的函数的文件；不给出时显示题目\n"
        "  --seconds N  每个用例的时间上限（秒），默认为 10\n"
        "  --help       显示本说明"
    ),
    "hint": "提示：{hint}",
    "import": "{file} 无法运行：{error}",
    "long": "{start} …（共 {length} 个字符）",
    "missing": "{file} 没有定义本练习要求的任何函数：{names}",
    "no_file": "找不到文件 {file}",
    "no_option": "没有选项 {option}；可用选项：--seconds、--help",
    "no_step": "没有练习 {step!r}；现有练习：{steps}",
    "not_yet": "尚未编写：{names}",
    "passed": "{name}：{total} 个用例全部通过",
    "raised": "抛出了  {error}",
    "slow": "{name}：用例 {number}（共 {total} 个）在 {seconds:g} 秒内没有返回，可能是死循环，或者太慢",
    "slow_import": "{file} 在 {seconds:g} 秒内没有执行完毕：函数之外是否有死循环？",
    "solved": "已完成。",
    "too_many": "最多给出一课和一个文件，多余的参数：{rest}",
    "unsolved": "尚未完成。",
    "where": "{error}（{file} 第 {line} 行）",
}


def say(message: str, **values: Any) -> str:
    """Return a message in the language of the reader.

    Examples:
        >>> say("passed", name="merge", total=3)
        'merge: 3 of 3 cases passed'
    """
    return (CHINESE if language() == "zh" else ENGLISH)[message].format(**values)


class Command(NamedTuple):
    """The parsed command line."""

    step: str | None = None
    file: Path | None = None
    seconds: float | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Check an answer, or print an exercise or the list of them; return the exit status."""
    return unless_closed(lambda: answer(list(sys.argv[1:] if arguments is None else arguments)))


def answer(given: list[str]) -> int:
    """Execute a command line; return the exit status."""
    if given[:1] == [CHILD]:
        run_cases(*given[1:])
        return 0
    if {"-h", "--help"} & set(given):
        print(say("help", program=PROGRAM))
        return 0
    command = parse(given)
    if command.step is None:
        return print_list()
    if (step := find(command.step)) is None:
        wrong("no_step", step=command.step, steps=", ".join(steps()))
    if command.file is None:
        print(f"{statement(step)}\n\n{say('ask', step=step, program=PROGRAM)}")
        return 0
    if not command.file.is_file():
        wrong("no_file", file=command.file)
    return check(step, command.file, command.seconds)


def parse(given: Sequence[str]) -> Command:
    """Parse a command line.

    Examples:
        >>> command = parse(["--seconds=2.5", "step04", "my_file.py"])
        >>> command.step, str(command.file), command.seconds
        ('step04', 'my_file.py', 2.5)
    """
    names: list[str] = []
    seconds = None
    rest = iter(given)
    for word in rest:
        option, equals, value = word.partition("=")
        if option == "--seconds":
            seconds = parse_seconds(value if equals else next(rest, ""))
        elif word.startswith("-"):
            wrong("no_option", option=word)
        else:
            names.append(word)
    if names[2:]:
        wrong("too_many", rest=" ".join(names[2:]))
    return Command(names[0] if names else None, Path(names[1]) if names[1:] else None, seconds)


def parse_seconds(text: str) -> float:
    """Parse the value of `--seconds`.

    Examples:
        >>> parse_seconds("2.5")
        2.5
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:  # also false for NaN
        wrong("bad_seconds", text=text)
    return value


def wrong(message: str, **values: Any) -> NoReturn:
    """Print an error about the arguments, and exit with status 2."""
    print(say(message, **values), file=sys.stderr)
    raise SystemExit(2)


def steps() -> list[str]:
    """Return the names of the lessons that have exercises, such as `step04`.

    Examples:
        >>> steps()[:2]
        ['step01', 'step02']
    """
    return sorted(path.stem for path in (FOLDER / "exercises").glob("step*.py"))


def find(step: str) -> str | None:
    """Return the name of the exercise for an argument such as `step04`, `step04_train`, `04` or `4`.

    Examples:
        >>> find("step04_train"), find("4"), find("x")
        ('step04', 'step04', None)
    """
    digits = step.removeprefix("step").partition("_")[0]
    name = f"step{int(digits):02}" if digits.isdecimal() else ""
    return name if name in steps() else None


def print_list() -> int:
    """Print the exercises in the order of reading; exercises without a lesson are last."""
    order = [lesson.name.partition("_")[0] for _, members in lessons() for lesson in members]
    for step in sorted(steps(), key=lambda step: order.index(step) if step in order else len(order)):
        names = ", ".join(task.name for task in tasks(step))
        print(f"{step}  {names}")
    return 0


def tasks(step: str) -> tuple[Task, ...]:
    """Return the functions that an exercise asks for."""
    found: tuple[Task, ...] = importlib.import_module(f".exercises.{step}", __package__).TASKS
    return found


def statement(step: str, reader: str | None = None) -> str:
    """Return the text of an exercise, in Markdown.

    Examples:
        >>> print(statement("step04", "en").partition("\\n")[0])
        Exercises of step 4: training.
    """
    if (reader or language()) == "zh":
        return (FOLDER / "exercises" / f"{step}.zh.md").read_text("utf-8").strip()
    return (importlib.import_module(f".exercises.{step}", __package__).__doc__ or "").strip()


def check(step: str, file: Path, seconds: float | None = None) -> int:
    """Run the cases on the functions of a file, print the results, and return the exit status."""
    asked = {task.name: task for task in tasks(step)}
    with tempfile.TemporaryDirectory() as folder:
        names, problem = run(step, file, Path(folder) / "names", "", seconds or 10.0)
        if problem:
            print(say(problem.pop("message"), file=file.name, **problem))
            return 1
        written = [name for name in asked if name in names[-1]["names"]]
        if not written:
            print(say("missing", file=file.name, names=", ".join(asked)))
            return 1
        solved = True
        for name in written:
            limit = seconds or asked[name].seconds
            events, problem = run(step, file, Path(folder) / name, name, limit)
            if not events or "error" in events[0]:  # the file could be imported before, but not this time
                print(say(problem.pop("message"), file=file.name, **problem))
                return 1
            solved &= report(asked[name], events, problem)
    if missing := [name for name in asked if name not in written]:
        print(say("not_yet", names=", ".join(missing)))
    print(say(("correct" if missing else "solved") if solved else "unsolved"))
    return 0 if solved else 1


def report(task: Task, events: list[dict[str, Any]], problem: dict[str, Any]) -> bool:
    """Print the results of a function's cases, and return whether all of them passed."""
    total = events[0]["total"]
    failed = [event for event in events if "failed" in event]
    if not failed and not problem:
        print(say("passed", name=task.name, total=total))
        return True
    if failed:
        number = failed[0]["number"]
        print(say("failed", name=task.name, failed=len(failed), total=total, number=number))
        lines = [say(key, **values) for key, values in failed[0]["failed"]]
    else:
        number = events[-1]["number"]
        print(say(problem.pop("message"), name=task.name, number=number, total=total, **problem))
        lines = [say("call", call=events[-1]["call"])]
    case = next(case for at, case in enumerate(task.cases(), 1) if at == number)
    hint = (case.hint if case.hint[0] else task.hint)[language() == "zh"]
    for line in [*lines, say("hint", hint=hint)]:
        print("    " + line)
    return False


def run(step: str, file: Path, path: Path, name: str, seconds: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run the cases of function `name` in another process; return its events and, in case of failure, the problem.

    An empty name lists the functions. The time limit applies to each case, because the other process writes a line
    before and after each case.
    """
    path.touch()
    program = ["-m", f"{__package__}.check"] if __spec__ and "." in (__package__ or "") else [str(FOLDER / "check.py")]
    command = [sys.executable, "-X", "utf8", *program, CHILD, step, str(file.resolve()), str(path), name]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        size, since = 0, time.monotonic()
        while process.poll() is None:
            if path.stat().st_size != size:
                size, since = path.stat().st_size, time.monotonic()
            if time.monotonic() - since > seconds:
                process.kill()
                break
            time.sleep(0.005)
        late = process.wait() != 0 and time.monotonic() - since > seconds
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    if not events:
        if late:
            return [], {"message": "slow_import", "seconds": seconds}
        return [], {"message": "import", "error": f"exit status {process.returncode}"}
    if "error" in events[-1]:
        return events, {"message": "import", "error": where(events[-1])}
    if "done" in events[-1]:
        return events, {}
    if late:
        return events, {"message": "slow", "seconds": seconds}
    return events, {"message": "crashed", "status": process.returncode}


# ── in the other process ──────────────────────────────────────────────────────────────────────────────────────────


def run_cases(step: str, file: str, path: str, name: str) -> None:
    """Run the cases of one function, or list the functions if the name is empty; write the results into `path`."""
    sys.path.append(str(FOLDER.parents[1]))  # an answer may import lessons, even from a checkout that is not built
    if importlib.util.find_spec("jeton") is None:  # the folder of the lessons was copied without the rest of Jeton
        sys.modules["jeton"] = ModuleType("jeton")
        sys.modules[PACKAGE] = sys.modules[str(__package__)]
    with Path(path).open("w", encoding="utf-8") as output:

        def write(**event: Any) -> None:
            print(json.dumps(event), file=output, flush=True)

        try:
            module = load(Path(file))
        except BaseException as error:  # even SystemExit: the file must be importable
            write(**told(error, file))
            return
        if not name:
            write(names=[task.name for task in tasks(step) if defines(module, task.name)], done=True)
            return
        task = next(task for task in tasks(step) if task.name == name)
        cases = list(task.cases())
        for number, case in enumerate(cases, 1):
            write(number=number, total=len(cases), call=shown_call(task, case))
            failed = try_case(task, getattr(module, name), case, file)
            write(number=number, total=len(cases), **({"failed": failed} if failed else {}))
        write(number=len(cases), total=len(cases), done=True)


def load(file: Path) -> Any:
    """Import the file of a reader as if it were next to the lessons, so that a copy of a lesson runs too."""
    if file.is_relative_to(FOLDER):
        return importlib.import_module("." + ".".join(file.relative_to(FOLDER).with_suffix("").parts), __package__)
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(f"{__package__}.answer", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file.name} is not a Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look the module up there
    spec.loader.exec_module(module)
    return module


def defines(module: Any, name: str) -> bool:
    """Tell if a file defines a name itself; names that it imports from a lesson do not count."""
    home = getattr(getattr(module, name, None), "__module__", module.__name__)
    return hasattr(module, name) and (
        home == module.__name__ or not home.startswith((f"{PACKAGE}.", f"{__package__}."))
    )


def try_case(task: Task, function: Any, case: Case, file: str) -> list[tuple[str, dict[str, str]]]:
    """Run a case; return the messages about its failure, or none if it passes."""
    lines = [("call", {"call": shown_call(task, case)})]
    expected = case.expected
    if isinstance(expected, Raises):
        wanted: tuple[str, dict[str, str]] = ("expected", {"value": expected.error.__name__})
    else:
        wanted = ("expected", {"value": shorten(repr(plain(expected)))})
    given = copy.deepcopy(case.arguments)
    try:
        got = plain(task.call(function, *given))
    except BaseException as error:
        if isinstance(expected, Raises) and isinstance(error, expected.error):
            return []
        return [*lines, wanted, ("raised", {"error": where(told(error, file))})]
    if isinstance(expected, Raises) or not same(got, plain(expected)):
        return [*lines, wanted, ("got", {"value": shown(got)})]
    return [] if same(plain(given), plain(case.arguments)) else [*lines, ("changed", {})]


def plain(value: Any) -> Any:
    """Replace tuples and iterators in a value by lists, so that the kind of a sequence does not matter.

    Examples:
        >>> plain((1, iter([2, (3, 4)]), {"a": (5,)}))
        [1, [2, [3, 4]], {'a': [5]}]
    """
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [plain(item) for item in value]
    return value


def same(got: Any, expected: Any) -> bool:
    """Compare results; floats are allowed to differ in the last digits.

    Examples:
        >>> same([0.1 + 0.2], [0.3]), same({1: "a"}, {1: "b"}), same("a", b"a"), same([1], [1, 2])
        (True, False, False, False)
    """
    if isinstance(expected, float) and isinstance(got, int | float):
        return math.isclose(got, expected, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(expected, list) and isinstance(got, list):
        return len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(expected, dict) and isinstance(got, dict):
        return got.keys() == expected.keys() and all(same(got[key], expected[key]) for key in expected)
    return type(got) is type(expected) and bool(got == expected)


def shown_call(task: Task, case: Case) -> str:
    """Return a call of the function as Python code."""
    return shorten(f"{task.name}({', '.join(map(repr, case.arguments))})")


def shown(value: Any) -> str:
    """Return the start of the `repr` of a result, or the name of the error that the `repr` of a reader's class raises.

    Examples:
        >>> shown([1, "a"])
        "[1, 'a']"
    """
    try:
        return shorten(repr(value))
    except Exception as error:
        return f"<{type(value).__name__}: __repr__ → {type(error).__name__}>"


def shorten(text: str) -> str:
    """Return the start of a long text, or a short text unchanged.

    Examples:
        >>> shorten("short"), len(shorten("x" * 1000))
        ('short', 320)
    """
    return text if len(text) <= SHOWN else say("long", start=text[:SHOWN], length=len(text))


def told(error: BaseException, file: str) -> dict[str, Any]:
    """Describe an exception, with the last line of the reader's file in its traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return {"error": shorten(text), "line": lines[-1] if lines else 0, "file": Path(file).name}


def where(event: dict[str, Any]) -> str:
    """Format an exception, with its line if the line is known."""
    return say("where", **event) if event["line"] else str(event["error"])


if __name__ == "__main__":
    sys.exit(main())
