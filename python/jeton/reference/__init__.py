"""A tokenizer from scratch, in short lessons, which are also the reference that tests compare with.

Each lesson adds one idea to the earlier lessons, explains it in prose and examples, and can be run: `python
step04_train.py` or `python -m jeton.reference.step04_train` prints the examples of that lesson. Each lesson has a
Chinese version of its prose (`step04_train.zh.md` for `step04_train.py`). The number of a lesson tells only when it was
written. Read the lessons in the following order, which `python -m jeton.reference` prints with the titles:

    BPE, from bytes to ids           1 levels · 2 pairs · 3 merge · 4 train · 5 encode · 6 decode · 7 special
    Splitting the text first         8 split · 14 regex
    One class, and GPT-4             13 tokenizer · 15 gpt4
    The same, fast                   16 fast_encoding · 17 fast_training
    Other algorithms and alphabets   10 words · 9 characters · 18 sentencepiece · 19 xlmr · 20 unigram · 21 wordpiece
    Using a tokenizer                11 compression · 12 vectors · 22 extending · 23 questions
    Errata                           24 errata

Exercises follow each lesson but the last: `python -m jeton.reference.check step04` prints them, and
`python -m jeton.reference.check step04 my_file.py` checks your answer and says which case fails.

The lessons are plain Python with the standard library only; step 12 compares with NumPy and PyTorch if they are
installed. The lessons do not import the rest of Jeton, except in the functions that compare a lesson with Jeton. Only
tests and pages of Jeton use the lessons. The lessons are written to be obviously correct and are therefore slow.
Jeton's engine is written to be fast and must give the same merges and ids for the same options (pattern, tie rule,
minimum frequency). If a lesson and the engine disagree, one of them has a bug.

This file imports nothing, so each step can be read, run and tested alone.
"""
