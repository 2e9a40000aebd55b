"""Replaces itself by the drop-in, if ``import tiktoken`` finds this folder on the path."""

if __name__ == "tiktoken":
    import sys

    from jeton.compat import replace

    del sys.modules["tiktoken"]
    replace("tiktoken")
