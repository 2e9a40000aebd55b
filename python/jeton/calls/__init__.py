"""Implementation of the methods of a `Tokenizer`: checks, computations and results.

```text
sampling         options of one call, for the core; text_errors: policies for lone surrogates and invalid UTF-8
batch_encoding   texts and pairs → rows of ids, cut by truncation; batch: the result, and padding; batch_decoding
columns          tokens of a text as columns, computed on access, for `jeton.encoding`
cutting          parts of a text within a number of tokens
```
"""
