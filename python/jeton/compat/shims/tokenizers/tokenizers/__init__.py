"""Replaces this module with Jeton's drop-in, if ``import tokenizers`` finds this folder on the path."""

if __name__ == "tokenizers":
    import sys

    from jeton.compat import replace

    del sys.modules["tokenizers"]
    replace("tokenizers")
