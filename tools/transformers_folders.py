"""Compares folders of the installed `transformers` before and after ``jeton.load`` and ``save``.

Each case builds a tokenizer with a class of the installed transformers from a published vocabulary, and saves it with
``save_pretrained``. Jeton loads the folder and saves it to another one. `AutoTokenizer` loads both, and everything that
a user can see of the two is compared: the arguments of the class, special tokens, added tokens, number of tokens,
maximum length, sides of padding and truncation, chat templates, ids of texts and pairs, decoded text, padding. The last
case is a tokenizer that Jeton trains, with roles and a chat template: padding and `apply_chat_template` must equal
Jeton's.

    python -m venv env && env/bin/pip install . 'transformers==4.57.*' sentencepiece protobuf tiktoken jinja2
    env/bin/python tools/transformers_folders.py VOCABS                 # VOCABS: a folder with published vocabularies
    env/bin/python tools/transformers_folders.py --models 3000 VOCABS   # the grid of parity/model_folders.py
    env/bin/python tools/transformers_folders.py --golden testdata/transformers   # with 4.57, also model_folders.json

Prints one line for each case, and the differences. The exit code is 1 if there is a difference that `EXPECTED` does not
list.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jeton

sys.path.insert(0, str(Path(__file__).resolve().parent))
from parity.model_folders import compare_all
from parity.model_folders import golden as golden_models

TEXTS = (
    "The older keeper reads: don't we'll 12345!",
    "  two  spaces\n\n\tand a tab ",
    "今天的天气很好。 naïve café 😉",
    "a <mask> b</s> <pad>[SEP] <|im_end|>x <image> <unk>",
    "",
)
TEMPLATE = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "older"}]
# Arguments that name files, or describe how the tokenizer was loaded.
PLACES = {
    "name_or_path", "tokenizer_file", "vocab_file", "merges_file", "special_tokens_map_file", "is_local",
    "local_files_only", "from_slow", "vocab", "merges", "tokenizer_object", "backend", "files_loaded",
    "__slow_tokenizer", "normalizer_file",
}  # fmt: skip
# Differences that docs/roles.md explains.
EXPECTED = {
    "class", "do_lower_case", "add_bos_token", "add_eos_token",
    "init_kwargs.model_input_names", "init_kwargs.padding_side",  # `save` adds them; the attributes must be equal
}  # fmt: skip
FAST = "PreTrainedTokenizerFast"

Build = Callable[[Path], Any]


def cases(vocabs: Path) -> Iterator[tuple[str, Build]]:
    """Yields the name and the constructor of each tokenizer. A constructor gets an empty folder."""
    import transformers

    options: dict[str, Any] = {"model_max_length": 512, "padding_side": "left", "truncation_side": "left"}
    chat = {"additional_special_tokens": ["<|im_start|>", "<|im_end|>"], "pad_token": "<pad>"}
    gpt2 = {"gpt2.encoder.json": "vocab.json", "gpt2.vocab.bpe": "merges.txt"}
    files = {
        "BertTokenizer": {"bert-uncased.vocab.txt": "vocab.txt"},
        "GPT2Tokenizer": gpt2,
        "LlamaTokenizer": {"mistral-v1.model": "tokenizer.model"},
        "T5Tokenizer": {"spm-unigram-en.model": "spiece.model"},
        "AlbertTokenizer": {"spm-unigram-en.model": "spiece.model"},
        "XLMRobertaTokenizer": {"spm-ja.model": "sentencepiece.bpe.model"},
        "MBartTokenizer": {"mbart-en-fairseq.sentencepiece.bpe.model": "sentencepiece.bpe.model"},
    }
    jsons = {
        "RobertaTokenizerFast": "roberta-base",
        "T5TokenizerFast": "t5-small",
        "MBartTokenizerFast": "mbart-en-fairseq",
        "LlamaTokenizerFast": "phi-3-mini",
        "GPTNeoXTokenizerFast": "gpt-neox-20b",
        "WhisperTokenizerFast": "whisper-tiny",
        FAST: "falcon",
    }

    def made(name: str, given: dict[str, str], **more: Any) -> Build:
        def build(folder: Path) -> Any:
            for file, to in given.items():
                shutil.copy(vocabs / file, folder / to)
            return getattr(transformers, name).from_pretrained(folder, **more)

        return build

    for name, given in files.items():
        for kind in (name, name + "Fast"):
            if hasattr(transformers, kind):
                yield f"{kind} from {next(iter(given))}", made(kind, given)
                yield f"{kind} from {next(iter(given))}, options", made(kind, given, **options, **chat)
    for kind, file in jsons.items():
        given = {f"{file}.tokenizer.json": "tokenizer.json"}
        yield f"{kind} from {file}", made(kind, given)
        yield f"{kind} from {file}, options", made(kind, given, **options, **chat)
    falcon = {"falcon.tokenizer.json": "tokenizer.json"}
    yield "one chat template", made(FAST, falcon, chat_template=TEMPLATE, **chat)
    several = {"default": TEMPLATE, "tool_use": TEMPLATE + "tools"}
    yield "several chat templates", made(FAST, falcon, chat_template=several, **chat)
    mask = transformers.AddedToken("<mask>", lstrip=True, normalized=False)
    yield "an added token with flags", made(FAST, falcon, mask_token=mask, **chat)
    image = {"extra_special_tokens": {"image_token": "<image>"}}
    yield "a token of the model's own", made(FAST, falcon, **image, **chat)
    own = {"own_key": {"a": [1, None]}, "clean_up_tokenization_spaces": True, "split_special_tokens": True}
    yield "keys of other programs", made(FAST, falcon, **own)
    names = {"model_input_names": ["input_ids"], "bos_token": "<s>", "eos_token": "</s>"}
    yield "input names and roles", made(FAST, falcon, **names)
    roberta = {"roberta-base.tokenizer.json": "tokenizer.json"}
    yield "prefix space", made("RobertaTokenizerFast", roberta, add_prefix_space=True)
    for ranks in ("llama3", "cl100k_base"):
        yield f"ranks of {ranks}", lambda folder, ranks=ranks: _converted(vocabs / f"{ranks}.tiktoken")


def _converted(file: Path) -> Any:
    from transformers import PreTrainedTokenizerFast
    from transformers import __version__ as transformers_version
    from transformers.convert_slow_tokenizer import TikTokenConverter

    name = "extra_special_tokens" if transformers_version >= "5" else "additional_special_tokens"
    converter = TikTokenConverter(vocab_file=str(file), **{name: ["<|a|>", "<|b|>"]})
    return PreTrainedTokenizerFast(tokenizer_object=converter.converted(), eos_token="<|a|>")  # noqa: S106


def facts(tok: Any) -> dict[str, Any]:
    """Returns all values of a tokenizer that are compared."""
    given = {key: value for key, value in tok.init_kwargs.items() if key not in PLACES}
    found: dict[str, Any] = {f"init_kwargs.{key}": repr(value) for key, value in given.items()}
    for name in (
        "model_max_length", "padding_side", "truncation_side", "model_input_names", "special_tokens_map",
        "all_special_tokens", "all_special_ids", "chat_template", "clean_up_tokenization_spaces", "pad_token_type_id",
        "split_special_tokens", "bos_token_id", "eos_token_id", "unk_token_id", "pad_token_id", "cls_token_id",
        "sep_token_id", "mask_token_id", "additional_special_tokens", "extra_special_tokens", "image_token",
        "src_lang", "tgt_lang", "add_prefix_space", "add_bos_token", "add_eos_token", "do_lower_case", "vocab_size",
    ):  # fmt: skip
        found[name] = repr(getattr(tok, name, None))
    found["added_tokens_decoder"] = {id: repr(token) for id, token in tok.added_tokens_decoder.items()}
    found["class"] = type(tok).__name__
    found["len"] = len(tok)
    for text in TEXTS:
        ids = tok(text)["input_ids"]
        found[f"ids of {text!r}"] = ids
        found[f"bare ids of {text!r}"] = tok(text, add_special_tokens=False)["input_ids"]
        found[f"decoded {text!r}"] = (tok.decode(ids), tok.decode(ids, skip_special_tokens=True))
    found["pair"] = dict(tok("hello", "the old"))
    if tok.pad_token is not None:
        found["padded"] = dict(tok(list(TEXTS[:3]), padding=True))
        found["truncated"] = dict(tok(list(TEXTS[:3]), padding="max_length", truncation=True, max_length=6))
    if tok.chat_template is not None:
        found["chat"] = tok.apply_chat_template(MESSAGES, tokenize=True, return_dict=False)
    return found


def differences(before: Any, after: Any) -> list[str]:
    """Returns a line for each value that differs."""
    first, second = facts(before), facts(after)
    lines = []
    for name in sorted({*first, *second}):
        a, b = first.get(name, "missing"), second.get(name, "missing")
        if a != b:
            lines.append(f"{name}: {str(a)[:200]} -> {str(b)[:200]}")
    return lines


def compare(build: Build, folder: Path) -> list[str] | str:
    """Saves a tokenizer with transformers and again with Jeton; returns the differences, or why Jeton refused it."""
    from transformers import AutoTokenizer

    source, old, new = folder / "source", folder / "old", folder / "new"
    source.mkdir()
    try:
        built = build(source)
    except TypeError as error:  # AlbertTokenizer of 5.23 does not read a .model
        return f"transformers cannot build it: {error}"
    built.save_pretrained(old)
    before = AutoTokenizer.from_pretrained(old)
    try:
        jeton.load(old).save(new, format="folder")
    except jeton.UnsupportedFeatureError as error:
        return str(error).replace(str(folder), "…")
    after = AutoTokenizer.from_pretrained(new)
    lines = differences(before, after)
    if not (new / "tokenizer.json").is_file():  # the files are those of a slow class; AutoTokenizer converts them
        slow = type(built).from_pretrained
        lines += [f"slow: {line}" for line in differences(slow(old), slow(new))]
        tok = jeton.load(new)
        lines += [
            f"ids of Jeton: {text!r}" for text in TEXTS if tok.encode(text, special="all") != bare(slow(new), text)
        ]
    return lines


def bare(tok: Any, text: str) -> list[int]:
    """Returns the ids of a text without those that the template adds."""
    return list(tok(text, add_special_tokens=False)["input_ids"])


def trained(folder: Path) -> list[str]:
    """Compares a trained tokenizer, with roles and a template, with the same tokenizer in transformers."""
    from transformers import AutoTokenizer

    special = ["<s>", "<|im_start|>", "<|im_end|>", "<pad>", "<mask>"]
    tok = jeton.train(["the old keeper reads the older weather"], 280, special_tokens=special, progress=False)
    tok = tok.with_roles(bos="<s>", eos="<|im_end|>", pad="<pad>", mask="<mask>").with_chat_template("chatml")
    tok.save(folder / "trained")
    theirs = AutoTokenizer.from_pretrained(folder / "trained")
    lines = []
    for name in ("bos", "eos", "pad", "unk", "mask"):
        if getattr(theirs, f"{name}_token_id") != getattr(tok, f"{name}_id"):
            lines.append(f"{name}: {getattr(tok, f'{name}_id')} -> {getattr(theirs, f'{name}_token_id')}")
    for prompt in (False, True):
        options = {"add_generation_prompt": prompt}
        chat = tok.chat(MESSAGES, **options)
        text = theirs.apply_chat_template(MESSAGES, tokenize=False, **options)
        ids = theirs.apply_chat_template(MESSAGES, tokenize=True, return_dict=False, **options)
        if (chat.text, chat.ids) != (text, ids):
            lines.append(f"chat: {chat.text!r} {chat.ids} -> {text!r} {ids}")
    rows = [tok.encode(text, special="all") for text in TEXTS]
    longest = max(map(len, rows))
    expected = [row + [tok.pad_id] * (longest - len(row)) for row in rows]
    padded = theirs(list(TEXTS), padding=True)
    if padded["input_ids"] != expected:
        lines.append(f"padded: {expected} -> {padded['input_ids']}")
    if padded["attention_mask"] != [[1] * len(row) + [0] * (longest - len(row)) for row in rows]:
        lines.append("attention_mask")
    theirs.save_pretrained(folder / "again")
    again = jeton.load(folder / "again")
    if (again, again.roles, again.definition.chat_template) != (tok, tok.roles, tok.definition.chat_template):
        lines.append(f"saved again: {tok.roles} -> {again.roles}")
    return lines


def golden(folder: Path) -> int:
    """Writes small folders with the installed transformers; adds to each the configuration that Jeton writes for it.

    Each folder is verified first: Jeton must not differ from `AutoTokenizer` except as expected. Later,
    `tests/formats/test_golden_folders.py` compares the configurations and does not need this version of transformers.
    """
    import transformers

    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "old", "##er")
    letters = {chr(code): code - 33 for code in range(33, 127)} | {"\u0120": 94, "<|endoftext|>": 95}
    trained_words = ["the old keeper reads the older weather"]
    tok = jeton.train(trained_words, 262, pattern="gpt2", special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
    chat = {"additional_special_tokens": ["<|im_start|>"], "eos_token": "<|im_end|>", "pad_token": "<pad>"}
    several = {"default": TEMPLATE, "rag": "{{ documents }}"}
    mask = transformers.AddedToken("<mask>", lstrip=True, normalized=False)

    def bert(source: Path) -> Any:
        (source / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        return transformers.BertTokenizer.from_pretrained(source, model_max_length=512)

    def pair(source: Path) -> Any:
        (source / "vocab.json").write_text(json.dumps(letters), encoding="utf-8")
        (source / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
        return transformers.GPT2Tokenizer.from_pretrained(source, padding_side="left")

    def fast(source: Path) -> Any:
        tok.save(source / "tokenizer.json")
        return transformers.PreTrainedTokenizerFast.from_pretrained(
            source, chat_template=several, mask_token=mask, own_key={"a": [1, None]}, **chat
        )

    def pieces(name: str, file: str, **more: Any) -> Build:
        def build(source: Path) -> Any:
            from sentencepiece import SentencePieceTrainer

            words = iter(["The old keeper reads: the older weather, the ﬁrst 今天的天气很好。"] * 20)
            rules = source / "rules.tsv"  # a small character map, since the usual ones have 240 KB
            rules.write_text("FB01\t66 69\n", encoding="utf-8")
            where = {"sentence_iterator": words, "model_prefix": str(source / "m"), "minloglevel": 2}
            options = {"vocab_size": 64, "hard_vocab_limit": False, "normalization_rule_tsv": str(rules)}
            SentencePieceTrainer.train(**where, **options)
            (source / "m.model").rename(source / file)
            return getattr(transformers, name).from_pretrained(source, **more)

        return build

    builds = {"bert": bert, "pair": pair, "fast": fast}
    if transformers.__version__ < "5":  # before version 5, classes that load a .model are slow tokenizers
        more = {"additional_special_tokens": ["<|im_start|>"], "padding_side": "left"}
        builds["t5"] = pieces("T5Tokenizer", "spiece.model", extra_ids=3)
        builds["xlm-roberta"] = pieces("XLMRobertaTokenizer", "sentencepiece.bpe.model", **more)
        builds["mbart"] = pieces("MBartTokenizer", "sentencepiece.bpe.model", src_lang="de_DE", tgt_lang="en_XX")
    for name, build in builds.items():
        with tempfile.TemporaryDirectory() as work:
            surprising = [line for line in compare(build, Path(work)) if line.partition(":")[0] not in EXPECTED]
            if surprising:
                print(name, *surprising, sep="\n  ")
                return 1
            target = folder / transformers.__version__ / name
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(Path(work, "old"), target)
            shutil.copy(Path(work, "new", "tokenizer_config.json"), target / "expected.json")
    if transformers.__version__ < "5":
        with tempfile.TemporaryDirectory() as work:
            text = json.dumps(golden_models(Path(work)), ensure_ascii=False, separators=(",", ":"))
        (folder / "model_folders.json").write_text(text + "\n", encoding="utf-8")
    return 0


def models(vocabs: Path, num: int, wanted: str) -> int:
    """Tests the folders of the grid, each of which contains a `.model`; returns the exit code."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as work:
        for name, outcome, lines in compare_all(Path(work), vocabs, num, wanted):
            outcomes[outcome] += 1
            print(f"{outcome.upper() if outcome == 'differs' else outcome}  {name}", *lines, sep="\n    ", flush=True)
    print(f"{num} generated texts each: {dict(outcomes)}")
    return 1 if outcomes["differs"] else 0


def main() -> int:
    """Runs all cases; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabs", type=Path, help="folder of published vocabularies; with --golden, of the output")
    parser.add_argument("--golden", action="store_true", help="write testdata/transformers instead")
    parser.add_argument(
        "--models", type=int, metavar="N", help="folders with a .model alone, on N generated texts each"
    )
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    args = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "JETON_TABLES": "lazy", "TRANSFORMERS_VERBOSITY": "error"}
    warnings.simplefilter("ignore")
    import transformers

    print(f"transformers {transformers.__version__}, jeton {jeton.__version__}")
    if args.golden:
        return golden(args.vocabs)
    if args.models is not None:
        return models(args.vocabs, args.models, args.k)
    runs: list[tuple[str, Callable[[Path], list[str] | str]]] = [
        (name, lambda folder, build=build: compare(build, folder)) for name, build in cases(args.vocabs)
    ]
    failed = 0
    for name, run in [*runs, ("trained with roles and a template", trained)]:
        if args.k not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = run(Path(folder))
            except Exception:
                found = ["raised " + traceback.format_exc(limit=-3)]
        if isinstance(found, str):
            print(f"refused  {name}: {found}")
            continue
        surprising = [line for line in found if line.partition(":")[0] not in EXPECTED]
        failed += bool(surprising)
        print(f"{'DIFFERS' if surprising else 'differs' if found else 'equal  '}  {name}", flush=True)
        for line in found:
            print(f"           {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
