"""Replaces itself by the drop-in, if ``import sentencepiece`` finds this folder on the path."""

if __name__ == "sentencepiece":
    import sys

    from jeton.compat import replace

    del sys.modules["sentencepiece"]
    replace("sentencepiece")
