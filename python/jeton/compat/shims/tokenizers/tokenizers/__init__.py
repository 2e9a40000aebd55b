"""``import tokenizers`` of a process with this folder on its path: the drop-in takes its place."""

if __name__ == "tokenizers":
    import sys

    from jeton.compat import replace

    del sys.modules["tokenizers"]
    replace("tokenizers")
