"""Fuzzer of `Tokenizer.chat`: any template must give text within the limits, or a `JetonError`.

    python fuzz/templates.py run --minutes 10 --seed 1
    python fuzz/templates.py bombs --each 200 --seed 1
    python fuzz/templates.py show --seed 1 --number 17

``run`` generates templates from a grammar: literals, operators, filters, tests, methods and functions with positional
and keyword arguments, loops, macros, blocks and namespaces. ``bombs`` generates variants of templates that create large
values. Each template runs in a forked process (so not on Windows) with limited address space, whose CPU time and peak
memory are measured. Properties: no exception except `JetonError`; at most 10 s (killed after 30 s) and 512 MB of
additional memory; and no special token in the output, since all messages spell one and no template does.

Findings are printed with their templates; ``show`` prints the template of a seed and a number.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from template_bombs import FAMILIES, bomb
from template_grammar import Grammar

import jeton
from jeton.chat import limits

MOST_SECONDS = 10.0
MOST_BYTES = 512 << 20
RESERVED = 512 << 20  # address space for stacks and arenas, in addition to used memory

TOK = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [], special_tokens={"<s>": 256})
MESSAGES = [
    {"role": "user", "content": "<s> some\twords, ééé 今天 😀\n<s>-a-b 12"},
    {"role": "assistant", "content": [{"type": "text", "text": "<s>"}], "n": 7},
    {"role": "user", "content": "<s>" * 300},
]
TOOLS = [{"type": "function", "function": {"name": "<s>", "parameters": {"a": [1, 2.5, None, True, {"b": "<s>"}]}}}]

# ── running them ──────────────────────────────────────────────────────────────────────────────────────────────────


class Outcome(NamedTuple):
    """Outcome of a template."""

    finding: str  # empty: none
    kind: str  # "text", or the name of the error
    seconds: float  # CPU time
    peak: int  # additional bytes


def attempt(template: str) -> tuple[str, str]:
    """Renders and encodes; returns a finding (or an empty string) and the kind of the result."""
    try:
        chat = TOK.chat(MESSAGES, template=template, tools=TOOLS)
    except jeton.JetonError as error:
        # A Jeton error caused by a Python error that the limits failed to prevent.
        missed = isinstance(error.__cause__, MemoryError | SystemError)
        finding = repr(error.__cause__) if missed else "a long message" if len(str(error)) > 2000 else ""
        return finding, type(error).__name__
    except BaseException as error:
        return f"{type(error).__name__}: {error!s:.200}", type(error).__name__
    if 256 in chat.ids:
        return "what a message spells is control", "text"
    return "", "text"


def forked(template: str) -> Outcome:
    """Calls `attempt` in a forked process with limits."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _work(template, writing)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], 3 * MOST_SECONDS)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    answer = os.read(reading, 1 << 16)
    os.close(reading)
    if not answer:
        finding = "does not end" if not ready else f"died of signal {os.WTERMSIG(status)}" if status else "no answer"
        return Outcome(finding, "none", seconds, 0)
    told = json.loads(answer)
    peak = max(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) - told["start"], 0)
    finding = told["finding"]
    if not finding and seconds > MOST_SECONDS:
        finding = f"takes {seconds:.1f} s"
    if not finding and peak > MOST_BYTES:
        finding = f"takes {peak >> 20} MB"
    return Outcome(finding, told["kind"], seconds, peak)


def _work(template: str, writing: int) -> None:
    code = 1
    try:
        start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        if sys.platform == "linux":
            with open("/proc/self/statm", encoding="ascii") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES + RESERVED,) * 2)
        finding, kind = attempt(template)
        os.write(writing, json.dumps({"finding": finding, "kind": kind, "start": start}).encode())
        code = 0
    finally:
        os._exit(code)


def check(templates: Iterator[tuple[str, str]], quiet: bool) -> tuple[list[Outcome], int]:
    """Runs named templates; returns their outcomes and the number of findings."""
    outcomes, found = [], 0
    for name, template in templates:
        outcome = forked(template)
        outcomes.append(outcome)
        if outcome.finding:
            found += 1
            print(f"FINDING {name}: {outcome.finding}\n{template}", flush=True)
        elif not quiet:
            print(f"{name:<20}{outcome.kind:<20}{outcome.seconds:6.2f} s{outcome.peak >> 20:6} MB", flush=True)
    return outcomes, found


def row(name: str, outcomes: list[Outcome], found: int) -> str:
    """Row of the table."""
    texts = sum(outcome.kind == "text" for outcome in outcomes)
    seconds = sorted(outcome.seconds for outcome in outcomes)
    median = seconds[len(seconds) // 2]
    peak = max(outcome.peak for outcome in outcomes) >> 20
    counts = f"{len(outcomes):>9}{texts:>8}{len(outcomes) - texts:>9}"
    return f"{name:<16}{counts}{median:>9.3f}{seconds[-1]:>9.2f}{peak:>9}{found:>10}"


def main() -> int:
    """Runs the command; returns 1 if there are findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["run", "bombs", "show"])
    parser.add_argument("--minutes", type=float, default=1, help="run: duration")
    parser.add_argument("--templates", type=int, help="run: number of templates, instead of --minutes")
    parser.add_argument("--each", type=int, default=200, help="bombs: variants of each family")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="bombs: only this family (repeatable)")
    parser.add_argument("--number", type=int, default=0, help="show: number of the template")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-seconds", type=float, help="time limit of a rendering (default: that of Jeton)")
    parser.add_argument("--verbose", action="store_true", help="print a line for each template")
    options = parser.parse_args()
    if options.max_seconds is not None:
        limits.MAX_SECONDS = options.max_seconds
    if options.command == "show":
        for family in options.family or ():
            print(bomb(family, options.seed, options.number), end="")
        print(Grammar(f"{options.seed} {options.number}").template() if not options.family else "", end="")
        return 0
    forked("{{ messages[0].content }}")  # imports Jinja here, not in each child
    attempt("{{ messages[0].content }}")
    print(
        f"{'':<16}{'templates':>9}{'texts':>8}{'errors':>9}{'median s':>9}{'most s':>9}{'most MB':>9}{'findings':>10}"
    )
    total = 0
    if options.command == "bombs":
        for family in options.family or FAMILIES:
            named = ((f"{family} {n}", bomb(family, options.seed, n)) for n in range(options.each))
            outcomes, found = check(named, not options.verbose)
            print(row(family, outcomes, found), flush=True)
            total += found
        return 1 if total else 0
    until = time.monotonic() + options.minutes * 60

    def generated() -> Iterator[tuple[str, str]]:
        number = 0
        while number < options.templates if options.templates else time.monotonic() < until:
            yield f"{options.seed} {number}", Grammar(f"{options.seed} {number}").template()
            number += 1

    outcomes, found = check(generated(), not options.verbose)
    print(row(f"seed {options.seed}", outcomes, found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
