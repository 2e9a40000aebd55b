"""The playground: ``jeton play`` serves a local web page that visualizes tokenizers.

    request_guard  ASGI middleware: validates requests, and accepts only those of its own page
    app            routes: paths → endpoints and static files
    catalog        the available tokenizers
    api/           one module per endpoint, with a stateless function of the catalog and a request
    static/        the page: HTML, CSS and ES modules, without a build step
    server         socket, browser, shutdown

The playground uses only Jeton's public functions. The server stores no text: every request contains its text. Needs the
extra ``play`` (starlette, uvicorn).
"""
