"""Plugin ``tiktoken_ext.openai_public``, for processes with this folder on their path."""

if __name__ == "tiktoken_ext.openai_public":
    import sys

    from jeton.compat import replace

    del sys.modules[__name__]
    replace("tiktoken")
