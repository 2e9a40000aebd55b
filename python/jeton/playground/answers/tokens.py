"""``tokens``: the tokens of a text, as much of them as a page can show.

Counts are those of the whole text. Where the text is long only its first tokens are described: those of a piece from
its beginning, as far as they are the same as the first of the whole.
"""
