"""If ``import tiktoken`` finds this package on the path, the package replaces itself with Jeton's drop-in."""

if __name__ == "tiktoken":
    import sys

    from jeton.compat import replace

    del sys.modules["tiktoken"]
    replace("tiktoken")
