"""If ``import sentencepiece`` finds this package on the path, the package replaces itself with Jeton's drop-in."""

if __name__ == "sentencepiece":
    import sys

    from jeton.compat import replace

    del sys.modules["sentencepiece"]
    replace("sentencepiece")
