"""Mistakes of other tutorials on this subject; the lessons have the right behavior."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jeton.reference.step12_vectors as vectors
from jeton.reference.step01_levels import BYTES
from jeton.reference.step03_merge import vocabulary
from jeton.reference.step04_train import TIE_BREAKS, choose, print_merges, train, train_bytes
from jeton.reference.step05_encode import encode, longest_match, ranks
from jeton.reference.step06_decode import decode
from jeton.reference.step07_special import add_special, cut, encode_text, with_special
from jeton.reference.step08_split import split
from jeton.reference.step09_characters import to_ids, train_characters
from jeton.reference.step10_words import longest_first
from jeton.reference.step13_tokenizer import Tokenizer


def test_without_special_tokens_merges_still_cross_characters() -> None:
    merges = train_bytes("abab", 258)
    assert encode_text("abab", ranks(merges), {}, permit="all") == [257]
    assert Tokenizer(tuple(merges)).encode("abab", special="all") == [257]


@pytest.mark.parametrize("order", [("<a>", "<a>b"), ("<a>b", "<a>")])
def test_the_longest_special_token_wins_whatever_the_order(order: tuple[str, str]) -> None:
    special = add_special({}, order, 256)
    assert encode_text("<a>b", {}, special, permit="all") == [special["<a>b"]]


def test_only_permitted_special_tokens_are_matched() -> None:
    assert cut("<a>b", {"<a>": 1, "<a>b": 2}, permit={"<a>"}) == [1, "b"]
    with pytest.raises(ValueError, match="'<c>' is permitted but is not a special token"):
        cut("x", {"<a>": 1}, permit={"<c>"})
    with pytest.raises(ValueError, match='expected "none", "all"'):
        cut("x", {"<a>": 1}, permit="<a>")


def test_a_special_token_may_hold_characters_that_mean_something_to_regex() -> None:
    assert cut("a.*b|", {".*": 1, "|": 2}, permit="all") == ["a", 1, "b", 2]


def test_special_tokens_before_training_leave_the_bytes_their_ids() -> None:
    tok = Tokenizer().add_special(["<s>"])
    assert tok.special_tokens == {"<s>": 256}
    merges = train_bytes("abab", 258, next_id=tok.vocab_size)
    spelling = with_special(vocabulary(BYTES, merges), tok.special_tokens)
    assert decode([0, 257], spelling) == "\x00ab"


def test_training_ends_quietly_when_no_pair_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(train_bytes("ab", 258)) == 1
    assert train_bytes("", 300) == train_bytes([], 300) == train_bytes(["a", "b"], 300) == []
    train_bytes("小小", 260, trace=print_merges(BYTES))  # showing half a character is not an error
    assert r"-> 256 b'\xe5\xb0'" in capsys.readouterr().out


def test_training_refuses_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="vocab_size is 255"):
        train_bytes("ab", 255)
    with pytest.raises(ValueError, match="expected one of first, lowest_ids, highest_pair, shortest"):
        train_bytes("ab", 257, tie_break="random")
    with pytest.raises(ValueError, match="at least 1"):
        train([[1, 2]], [0], {1: b"a", 2: b"b"}, 1)
    with pytest.raises(ValueError, match="id 2 occurs"):
        train([[1, 2]], None, {1: b"a"}, 1)
    with pytest.raises(ValueError, match="zip"):
        train([[1, 1]], [1, 1], {1: b"a"}, 1)
    with pytest.raises(UnicodeEncodeError):
        train_bytes("\ud800", 300)


def test_counts_are_exact_beyond_64_bits_of_float() -> None:
    big = 2**53
    merges = train([[1, 2], [2, 1]], [big, big + 1], {1: b"a", 2: b"b"}, 1)
    assert merges[0] == (2, 1, 3, big + 1)


@pytest.mark.parametrize(
    ("rule", "winner"), [("first", (2, 1)), ("lowest_ids", (0, 1)), ("highest_pair", (2, 1)), ("shortest", (0, 1))]
)
def test_each_tie_rule_chooses_its_pair(rule: str, winner: tuple[int, int]) -> None:
    spelling = {0: b"a", 1: b"b", 2: b"z"}
    assert choose({(2, 1): 3, (1, 0): 3, (0, 1): 3, (0, 0): 2}, rule, spelling, dict.fromkeys(spelling, 1)) == winner


def test_shortest_counts_letters_of_the_alphabet_and_not_bytes() -> None:
    spelling = {0: "小".encode(), 1: "冬".encode(), 2: b"abc", 3: b"d"}
    size = {0: 1, 1: 1, 2: 3, 3: 1}
    assert choose({(2, 3): 1, (0, 1): 1}, "shortest", spelling, size) == (0, 1)  # 2 letters of 6 bytes, 4 of 4


def test_equal_spellings_fall_back_to_the_lowest_ids() -> None:
    spelling = {0: b"a", 1: b"b", 2: b"a"}
    size = dict.fromkeys(spelling, 1)
    for rule in TIE_BREAKS[1:]:
        assert choose({(2, 1): 1, (0, 1): 1}, rule, spelling, size) == (0, 1)


def test_the_wikipedia_example_depends_on_the_tie_rule() -> None:
    spell = {rule: vocabulary(BYTES, train_bytes("aaabdaaabac", 259, tie_break=rule)) for rule in TIE_BREAKS[:2]}
    assert [spell["first"][id] for id in (256, 257, 258)] == [b"aa", b"aaa", b"aaab"]
    assert [spell["lowest_ids"][id] for id in (256, 257, 258)] == [b"aa", b"ab", b"aaab"]


def test_pairs_never_cross_documents() -> None:
    assert [merge[:2] for merge in train_bytes(["ab", "ca"], 300)] == [(97, 98), (99, 97)]


def test_an_unseen_character_is_named_with_its_place() -> None:
    learned = train_characters("今天的天气", 6)
    with pytest.raises(ValueError, match=r"'冬' \(U\+51AC\) at index 2"):
        to_ids("今天冬", learned.alphabet)
    assert to_ids("今天冬冬", learned.alphabet, unk=99) == [1, 0, 99, 99]


def test_decoding_names_the_unknown_id() -> None:
    with pytest.raises(KeyError, match="id 256 at position 1"):
        decode([97, 256], BYTES)
    with pytest.raises(ValueError, match="errors is 'ignore'"):
        decode([97], BYTES, errors="ignore")


def test_the_greedy_encoder_drops_nothing_and_reads_dots_as_dots() -> None:
    assert longest_first("xlow", ["low", "</w>"]) == ["</u>", "low", "</w>"]
    assert longest_first("a.", ["a."]) == ["a.", "</u>"]
    assert longest_first("a[.]", ["[.]", "</w>"]) == ["</u>", "[.]", "</w>"]
    assert longest_first("</w", ["</w>"]) == ["</u>", "</w>"]  # the mark is one letter; `</w` is not


def test_a_pattern_that_does_not_compile_is_refused() -> None:
    with pytest.raises(ValueError, match="does not compile"):
        split("text", "(")


def test_a_tokenizer_with_holes_counts_rows_and_names_the_hole() -> None:
    tok = Tokenizer(special_tokens={"<s>": 300})
    assert tok.vocab_size == 301
    with pytest.raises(KeyError, match="id 299"):
        tok.decode([299])


def test_the_embedding_is_a_lookup_with_gradients() -> None:
    table = vectors.Embedding(10, 32)
    found = table.lookup([[0, 1, 2]])
    assert vectors.shape(found) == [1, 3, 32]
    assert found == [table.weight[:3]]
    assert found == [vectors.times([vectors.one_hot(id, 10) for id in (0, 1, 2)], table.weight)]
    assert table.gradient == [[0] * 32] * 10
    table.backward([[0, 1, 1]], [[[1.0] * 32] * 3])
    assert [sum(row) for row in table.gradient] == [32.0, 64.0] + [0.0] * 8
    for wrong in (10, -1):
        with pytest.raises(IndexError, match=f"id {wrong} has no row"):
            table.lookup([[wrong]])


def test_numpy_takes_an_equal_gradient_step() -> None:
    rng = random.Random(12)
    for _ in range(100):
        rows, columns = rng.randrange(1, 9), rng.randrange(1, 5)
        weight: vectors.Matrix = [[rng.randrange(-64, 64) / 8 for _ in range(columns)] for _ in range(rows)]
        ids = [[rng.randrange(rows) for _ in range(4)] for _ in range(3)]
        assert vectors.in_numpy(weight, ids, rate=0.25) == vectors.in_python(weight, ids, rate=0.25)


def test_pytorch_takes_an_equal_gradient_step() -> None:
    """Debian's PyTorch belongs to the Python of the system, so the lesson runs as a file there."""
    pythons = [sys.executable, "/usr/bin/python3"]
    python = next((path for path in pythons if Path(path).exists() and succeeds(path, "-c", "import torch")), None)
    if python is None:
        pytest.skip("no Python here has PyTorch: tools/setup_tools.sh installs Debian's")
    done = subprocess.run([python, "-X", "utf8", str(vectors.__file__)], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert re.search(r"^torch [\d.]+\S*: the same loss, gradient and table$", done.stdout.decode(), re.MULTILINE)


def succeeds(*command: str) -> bool:
    """Tell if a command exits with 0."""
    return subprocess.run(command, capture_output=True, check=False, timeout=120).returncode == 0


def test_exercise_3_of_step_13_has_a_solution() -> None:
    merges = train_bytes(["bc"] * 3 + ["ab"] * 2 + ["cd"] * 2, 259)
    spelling = vocabulary(BYTES, merges)
    assert [spelling[id] for id in encode(list(b"abcd"), ranks(merges))] == [b"a", b"bc", b"d"]
    assert [spelling[id] for id in longest_match(b"abcd", spelling)] == [b"ab", b"cd"]


def test_the_encoder_leaves_its_input_alone() -> None:
    ids = list(b"abab")
    assert encode(ids, {(97, 98): (0, 256)}) == [256, 256]
    assert bytes(ids) == b"abab"
    assert encode([], {}) == []
