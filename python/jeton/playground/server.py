"""Server of ``jeton play``: binds a socket, opens a browser, and runs uvicorn until Ctrl-C.

Left out: access from other machines; the server listens on the loopback interface only.
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
# Default port; the lessons contain links to this port.
DEFAULT_PORT = 7777


def bind(port: int | None = 0) -> socket.socket:
    """Returns a listening socket on a local port. 0: a free port; None: 7777, or a free port if 7777 is in use.

    Raises:
        ConfigError: the port is in use, or requires privileges.

    Examples:
        >>> with bind() as taken:
        ...     bind(taken.getsockname()[1])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: port ... is in use; omit --port to use a free one
    """
    if port is None:
        try:
            return bind(DEFAULT_PORT)
        except ConfigError:
            return bind(0)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # the option allows a restart right away; on Windows, it would let programs share the port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            why = f"port {port} is in use"
        elif error.errno == errno.EACCES:
            why = f"port {port} requires privileges that this user does not have"
        else:
            raise
        raise ConfigError(f"{why}; omit --port to use a free one", option="port") from None
    return listener


def make_server(catalog: Catalog, port: int) -> uvicorn.Server:
    """Creates the server for a port; call its ``run`` with the socket from `bind`."""
    config = uvicorn.Config(
        make_app(catalog, port),
        host=ADDRESS,
        port=port,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # `app` logs errors of endpoints itself
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def serve(catalog: Catalog, port: int | None, *, ready: Callable[[str], None], browser: bool) -> None:
    """Serves until Ctrl-C, which raises KeyboardInterrupt.

    Args:
        catalog: the available tokenizers.
        port: the port, as in `bind`.
        ready: called with the address when the socket is listening.
        browser: whether to open the address in a browser.
    """
    with bind(port) as listener:
        port = listener.getsockname()[1]
        server = make_server(catalog, port)
        address = f"http://{ADDRESS}:{port}/"
        logging.getLogger("jeton").setLevel(logging.ERROR)  # the page itself displays training's warnings
        ready(address)
        if browser:  # in a thread, because for some browsers the call returns only when the browser is closed
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        server.run(sockets=[listener])
