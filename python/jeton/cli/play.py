"""``jeton play``: the playground, a page on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ..errors import MissingDependencyError
from .options import Command, CommonOptions, common_options
from .streams import write


@click.command(cls=Command, short_help="Open the playground, a page that shows what tokenizers do.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port; by default 7777, or a free one where that is taken. 0 takes a free one.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--vocabs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A folder with tokenizers: files of any known format, and folders that hold one.",
)
@click.option(
    "-t", "--tokenizer", "names", multiple=True, metavar="PATH|NAME", help="A tokenizer to begin with (repeatable)."
)
@common_options
def play(
    common: CommonOptions, names: tuple[str, ...], vocabs: Path | None, no_browser: bool, port: int | None
) -> None:
    """Opens a page on this machine that shows tokens as you type, why they are what they are, how training finds
    them, and what they cost. It shows the tokenizers you name, those of --vocabs, and those this machine has in
    its caches; others can be dropped on the page. Nothing is sent anywhere, and Ctrl-C ends it.

    \b
    Examples:
      jeton play
      jeton play -t my.json -t o200k_base
      jeton play --vocabs tokenizers/ --no-browser --port 8080
    """
    try:
        from ..playground.catalog import Catalog
        from ..playground.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("anyio", "starlette", "uvicorn"):
            raise
        raise MissingDependencyError(
            f"jeton play needs {error.name}, which is not installed: pip install 'jeton[play]'", extra="play"
        ) from error

    def ready(address: str) -> None:
        write(json.dumps({"url": address}) if common.as_json else address)
        sys.stdout.flush()  # a program that waits for the address gets it now
        common.say("the playground is open; Ctrl-C ends it")

    serve(Catalog(names, vocabs), port, ready=ready, browser=not no_browser)
