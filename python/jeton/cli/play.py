"""``jeton play``: serves the playground, a local web page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..errors import MissingDependencyError
from ..util.messages import translate, use_catalog
from .options import Command, CommonOptions, common_options
from .streams import write, write_json


@click.command(cls=Command, short_help="Open the playground, a local web page.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port. Default: 7777, or a free port if that is in use. 0: a free port.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--vocabs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of tokenizers: files of any supported format, and folders that contain one.",
)
@click.option(
    "-t", "--tokenizer", "names", multiple=True, metavar="PATH|NAME", help="Tokenizer to list first (repeatable)."
)
@common_options
def play(
    common: CommonOptions, names: tuple[str, ...], vocabs: Path | None, no_browser: bool, port: int | None
) -> None:
    """Opens a local web page that shows tokens as you type, the steps that lead to them, training, and token counts.
    It lists the tokenizers given with -t, those of --vocabs, and those in this machine's caches; files can be dropped
    on the page. The server listens on 127.0.0.1 only, and no text leaves the machine. Ctrl-C stops it.

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
        if common.as_json:
            write_json({"url": address})
        else:
            write(address)
        sys.stdout.flush()  # a program that reads the output needs the address now
        common.say(translate("the playground is open; press Ctrl-C to stop it"))

    with use_catalog(None):  # English, because the page chooses its own language
        serve(Catalog(names, vocabs), port, ready=ready, browser=not no_browser)
