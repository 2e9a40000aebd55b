"""Implementation of the methods of a `Tokenizer`: checks, computations and results.

```text
sampling         sampling options of one call, checked for the core
text_errors      policies for lone surrogates and invalid UTF-8
batch_encoding   texts and pairs → rows of ids; truncation: their lengths; batch: the result, with padding
batch_decoding   rows of ids → texts
columns          tokens of a text as columns, computed on access, for `jeton.encoding`
cutting          parts of a text that have at most a given number of tokens
```
"""
