"""The playground: ``jeton play`` opens a page on this machine that shows what tokenizers do.

    door      who may come in: this machine's own page and nobody else
    app       paths → answers and files of the page
    catalog     which tokenizers there are
    answers/  one module a question; each is a function of the catalog and a request, and keeps nothing
    static/   the page: HTML, CSS and ES modules as they are
    server    a port, a browser, and Ctrl-C

It calls Jeton's public functions and nothing more, and keeps no text: every request brings the text it is about.
Needs the extra ``play`` (starlette, uvicorn).
"""
