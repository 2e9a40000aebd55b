"""``import tiktoken`` of a process with this folder on its path: the drop-in takes this module's place."""

if __name__ == "tiktoken":
    import sys

    from jeton.compat import replace

    del sys.modules["tiktoken"]
    replace("tiktoken")
