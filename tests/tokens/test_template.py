"""`Tokenizer.with_template`: the notation of `tokenizers`, and effects of the template."""

from __future__ import annotations

from pathlib import Path

import pytest

import jeton

from ..material import byte_tokenizer, tokenizer

TOK = tokenizer("byte gpt2").with_roles(bos="<a>", eos="<|im_end|>")
A, START, END = (TOK.special_tokens[token] for token in ("<a>", "<|im_start|>", "<|im_end|>"))


def test_a_template_surrounds_a_text_and_a_pair() -> None:
    tok = TOK.with_template("<a> $A <|im_end|>", "<a> $A <|im_end|> <|im_start|>:1 $B:1 <|im_end|>:1")
    assert tok.encode("the") == TOK.encode("the")
    assert tok.encode("the", add_special_tokens=True) == [A, *TOK.encode("the"), END]
    pair = tok.tokenize("the", "old", add_special_tokens=True)
    first, second = TOK.encode("the"), TOK.encode("old")
    assert pair.ids == [A, *first, END, START, *second, END]
    assert pair.type_ids == [0] * (len(first) + 2) + [1] * (len(second) + 2)
    assert TOK.with_template("<a> $A").tokenize("a", "b", add_special_tokens=True).type_ids == [0, 1]


def test_a_template_equals_that_of_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    single, pair = "<a> $A:2 <|im_end|>:3", "<a> $B:1 <|im_end|> $A"
    ours = TOK.with_template(single, pair)
    theirs = tokenizers.Tokenizer.from_str(TOK.to_bytes().decode())
    special = [(token, TOK.special_tokens[token]) for token in ("<a>", "<|im_end|>")]
    theirs.post_processor = tokenizers.processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    for texts in (("the old",), ("the old", "man")):
        expected = theirs.encode(*texts)
        encoding = ours.tokenize(*texts, add_special_tokens=True)
        assert (encoding.ids, encoding.type_ids) == (expected.ids, expected.type_ids)


def test_a_template_is_saved_and_part_of_the_fingerprint(tmp_path: Path) -> None:
    tok = TOK.with_template("<a> $A")
    assert tok.fingerprint != TOK.fingerprint
    tok.save(tmp_path / "folder")
    assert jeton.load(tmp_path / "folder") == tok == jeton.Tokenizer.from_bytes(tok.to_bytes())
    assert tok.with_template(None) == TOK
    assert (tok.roles, tok.definition.pretokenizer) == (TOK.roles, TOK.definition.pretokenizer)
    assert tok.with_options(special="all").with_template("$A").encode("<a>") == [A]  # defaults are kept


@pytest.mark.parametrize("single", ["<a> $A", None])
def test_a_template_drops_a_class_that_would_build_its_own(single: str | None) -> None:
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "model_max_length": 7}
    assert TOK._with_facts(config=config).with_template(single).definition.config == {"model_max_length": 7}


def test_offsets_are_trimmed_as_before() -> None:
    """A post-processor that trims offsets, such as GPT-2's and RoBERTa's, trims them with another template, too."""
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_str(TOK.to_bytes().decode())
    special = [(token, TOK.special_tokens[token]) for token in ("<a>", "<|im_end|>")]
    theirs.post_processor = tokenizers.processors.RobertaProcessing(special[1], special[0])
    roberta = jeton.Tokenizer.from_bytes(theirs.to_str().encode())
    again = roberta.with_template("<a> $A <|im_end|>", "<a> $A <|im_end|> <|im_end|> $B <|im_end|>")
    for text in ("the old", " the  old "):
        assert again.tokenize(text).hf_offsets == roberta.tokenize(text).hf_offsets != TOK.tokenize(text).hf_offsets
        assert again.with_template(None).tokenize(text).hf_offsets == roberta.tokenize(text).hf_offsets
        assert again.encode(text, add_special_tokens=True) == roberta.encode(text, add_special_tokens=True)
    assert again.definition.template == {**roberta.definition.template, "overflow_type_ids": False}


@pytest.mark.parametrize(
    ("single", "pair", "message"),
    [
        ("<x> $A", None, r"single='<x> \$A': '<x>' is neither \$A, nor an added token .* add_tokens\(\['<x>'\]\)"),
        ("$A $B", None, r"'\$B' is neither \$A, nor"),
        ("<a>", None, r"single='<a>' must contain \$A exactly once"),
        ("$A $A", None, r"must contain \$A exactly once"),
        ("$A", "$A", r"pair='\$A' must contain \$A and \$B exactly once"),
        (None, "$A $B", "pair= needs single="),
        ("$A:x", None, r"'\$A:x' is neither"),
        ("$A:", None, r"'\$A:' is neither"),
        ("$A:-1", None, r"'\$A:-1' is neither"),
        ("$A:9999999999", None, r"'\$A:9999999999' is neither"),
        ("$A 7", None, "'7' is neither"),
        ("xA $A", None, "'xA' is neither"),
        ("$ $A", None, r"'\$' is neither"),
        ("$A", "$A $C", r"'\$C' is neither \$A nor \$B, nor"),
        ("$A", "$A $B $B", r"must contain \$A and \$B exactly once"),
        ("$A", 3, "pair=3"),
        (3, None, "single=3"),
    ],
)
def test_invalid_templates_are_refused(single: str, pair: str | None, message: str) -> None:
    with pytest.raises(jeton.ConfigError, match=message):
        TOK.with_template(single, pair)


def test_type_ids_and_tokens_with_colons() -> None:
    tok = byte_tokenizer(special_tokens={"<s>": 300, "<s>:1": 301, "a:b": 302})
    for single, ids, types in (
        ("<s>:2 $A:999999999", [300, 97], [2, 999_999_999]),
        ("<s>:1 $A:07", [301, 97], [0, 7]),
        ("<s>:1:1 $A:0", [301, 97], [1, 0]),
        ("a:b $A a:b:3", [302, 97, 302], [0, 0, 3]),
        ("  $A\t<s>\n", [97, 300], [0, 0]),
    ):
        encoding = tok.with_template(single).tokenize("a", add_special_tokens=True)
        assert (encoding.ids, encoding.type_ids) == (ids, types)
