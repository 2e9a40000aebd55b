"""``jeton play``: a port of this machine, a browser that opens it, and Ctrl-C.

Left out: other machines; the playground listens to this one only.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from ..errors import ConfigError
from .app import make_app
from .catalog import Catalog

__all__ = ["bind", "make_server", "serve"]

ADDRESS = "127.0.0.1"


# Where it is unless it is told otherwise, so that links in the lessons and bookmarks find it.
USUAL_PORT = 7777


def bind(port: int | None = 0) -> socket.socket:
    """A socket that listens on a port of this machine; 0 takes a free one, None 7777 or, if that is taken, a free one.

    Raises:
        ConfigError: the port is taken, or not ours to take.

    Examples:
        >>> with bind() as taken:
        ...     bind(taken.getsockname()[1])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: port ... is taken by another program; without --port a free one is found
    """
    if port is None:
        try:
            return bind(USUAL_PORT)
        except ConfigError:
            return bind(0)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # a port that we have just left is free; elsewhere this would let two take the same
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            why = "is taken by another program"
        elif error.errno == errno.EACCES:
            why = "is not one that this user may take"
        else:
            raise
        raise ConfigError(f"port {port} {why}; without --port a free one is found", option="port") from None
    return listener


def make_server(catalog: Catalog, port: int) -> uvicorn.Server:
    """The server of a port that `bind` has taken; its ``run`` takes the socket."""
    config = uvicorn.Config(
        make_app(catalog, port),
        host=ADDRESS,
        port=port,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # its words are for who runs servers; what fails in an answer, `app` says
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def serve(catalog: Catalog, port: int | None, *, ready: Callable[[str], None], browser: bool) -> None:
    """Serves until Ctrl-C, which comes out as KeyboardInterrupt.

    Args:
        catalog: the tokenizers there are.
        port: the port; 0 takes a free one, None 7777 or, if that is taken, a free one.
        ready: called with the address as soon as it answers.
        browser: whether to open it.
    """
    with bind(port) as listener:
        port = listener.getsockname()[1]
        server = make_server(catalog, port)
        address = f"http://{ADDRESS}:{port}/"
        logging.getLogger("jeton").setLevel(logging.ERROR)  # the page says what training warns of
        ready(address)
        if browser:  # some browsers return only when they are closed
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        server.run(sockets=[listener])
