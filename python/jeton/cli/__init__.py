"""The command line, ``jeton COMMAND``. Each command has its own module; ``options``, ``streams``, ``outputs``,
``surgery``, ``language``, ``help_text`` and ``running`` are shared.

Command modules are imported lazily, so that ``jeton encode`` does not import the dependencies of ``jeton train``.
Only data is written to standard output. Messages are written to standard error, in the language that `language`
chooses.
"""

from __future__ import annotations

from importlib import import_module

import click

import jeton

from .help_text import Context
from .running import run

__all__ = ["main"]

# The sections of `jeton --help`, each with its commands in order.
SECTIONS = {
    "First steps": ("demo", "play", "names"),
    "Use": ("encode", "decode", "count", "truncate", "split", "chat"),
    "Train": ("train", "pretokens", "sizes"),
    "Understand": (
        *("explain", "vocab", "compare", "compare-corpus"),
        *("measure", "languages", "cost", "audit", "doctor"),
    ),
    "Change and convert": ("convert", "add-tokens", "add-words", "extend", "merge-vocab", "prune"),
    "Corpora": ("shards",),
}
COMMANDS = tuple(command for commands in SECTIONS.values() for command in commands)


class _LazyGroup(click.Group):
    """Click group that imports each command from the module with the command's name."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f".{name}", __name__), name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolves a command's name; if there is no such command, the error suggests similar names."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], COMMANDS)
            if similar and "Did you mean" not in error.message:
                message = f"{error.message} Did you mean {', '.join(map(repr, similar))}?"
                raise click.UsageError(message, error.ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands by section, with the same column width in all sections."""
        width = max(map(len, COMMANDS))
        limit = formatter.width - 6 - width
        for title, commands in SECTIONS.items():
            found = [(name, self.get_command(ctx, name)) for name in commands]
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), command.get_short_help_str(limit)) for name, command in found if command]
                )


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(jeton.__version__, prog_name="jeton")
def _jeton() -> None:
    """Train, run and understand tokenizers.

    \b
    Start here:
      jeton encode "Hello there"               text to ids, with the tokenizer that ships with Jeton
      jeton demo                               train on this Python's standard library, and show the results
      jeton train texts/ -o my.json -s 8000    train on your own texts
      jeton encode -t my.json "Hello there"    text to ids, with yours
      jeton explain -t my.json "Hello there"   why these ids

    Exit codes: 0 success; 1 error in data or files; 2 usage error; 3 success, but records were skipped; 4 a
    difference was found; 130 interrupted (Ctrl-C).
    """


def main(args: list[str] | None = None) -> int:
    """Runs one command line and returns its exit code.

    Args:
        args: the arguments after the program's name; None is the arguments of the process.

    Examples:
        >>> main(["count", "--nonsense"])
        2
    """
    return run(_jeton, args)
