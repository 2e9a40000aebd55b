"""Everything about tokens except the model: added tokens, special tokens and their roles, and spellings of all tokens.

```text
added       flags of an added token; matcher: finds added tokens in a text; adding: assigns ids to new added tokens
special     the caller's permission for special tokens; roles: which special token is bos, eos, pad …
spelling    id ↔ spelling; vocab_view: id → bytes; kinds of entries; merge_list: entries and merges, checked
```

`protocols` has the members of a tokenizer that these modules use.
"""
