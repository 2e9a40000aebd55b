"""Tokens of a vocabulary beside its model: added and special tokens, their roles, and the spelling of all.

```text
added       flags of an added token; matcher: where a text has one; adding: ids of new ones
special     the caller's permission for special tokens; roles: which of them is bos, eos, pad …
spelling    id ↔ spelling; vocab_view: id → bytes; kinds of entries; merge_list: entries and merges, checked
```

`protocols` has the members of a tokenizer that these modules use.
"""
