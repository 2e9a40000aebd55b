"""If ``import tokenizers`` finds this package on the path, the package replaces itself with Jeton's drop-in."""

if __name__ == "tokenizers":
    import sys

    from jeton.compat import replace

    del sys.modules["tokenizers"]
    replace("tokenizers")
