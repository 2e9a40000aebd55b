"""Plugin ``tiktoken_ext.openai_public`` of a process with this folder on its path."""

if __name__ == "tiktoken_ext.openai_public":
    import sys

    from jeton.compat import replace

    del sys.modules[__name__]
    replace("tiktoken")
