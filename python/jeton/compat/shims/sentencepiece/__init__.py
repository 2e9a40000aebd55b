"""``import sentencepiece`` of a process that has `jeton.compat.shims` on its path: the drop-in takes its place."""

if __name__ == "sentencepiece":
    import sys

    from jeton.compat import replace

    del sys.modules["sentencepiece"]
    replace("sentencepiece")
