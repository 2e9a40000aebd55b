"""A tokenizer from nothing, in thirteen short steps: to be read, and to be tested against.

Read the files in the order of their numbers. Each adds one idea to those before it, opens with the idea in prose and
examples, and can be run: `python -m jeton.reference.step04_train` prints what that lesson is about. A student with
some Python reads it all in about an hour. A Chinese version of the prose stands beside each file
(`step04_train.zh.md` beside `step04_train.py`).

    text and ids       1 levels: bytes, characters, words
    the algorithm      2 pairs · 3 merging · 4 training · 5 encoding · 6 decoding
    around it          7 special tokens · 8 cutting the text into pretokens
    other beginnings   9 characters · 10 words with an end mark
    what it is for    11 compression · 12 ids to vectors
    all of it         13 one class

It is plain Python, made of the standard library alone, with NumPy or PyTorch in step 12 only. It uses nothing else
of Jeton, and nothing of Jeton uses it but tests and pages. It is written to be obviously right and is
therefore slow; Jeton's engine is written to be fast, and must give the same merges and the same ids. Where the two
disagree, one of them has a mistake.

This file imports nothing, so that each step can be read, run and tested alone.
"""
