"""The Why view: splits and their pattern, merges step by step, lattices, longest matches; hostile and long texts."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.definition import Pattern
from jeton.playground.catalog import Catalog
from jeton.reference.sentencepiece_file import write_model

from ...material import tokenizer
from ..conftest import Problems, axe_violations, running

Open = Callable[..., Any]

SMALL = tokenizer("byte gpt2")
# White space, signs, marks, numbers and letters of both cases and of none, next to each other
TRICKY_TEXT = (
    "It's HE'LL a1234567 ½Ⅷ x\u0301e\u0301  two   spaces\t\ttabs\n\n  lines\r\n end.\n/ //\n ABC\u0414\u0436 天气Go "
    "(sign) $5 --\n\u0301x \u0928\u092e\u0938\u094d\u0924\u0947 \u2028 \u3000é!?\n \n\t x   "
)


def fits(words: str, text: str, rest: str) -> bool:
    """Whether a pretoken is what the words of its alternative say; `rest`: the text after it."""
    kinds = [unicodedata.category(char) for char in text]
    core, cores = text[1:], kinds[1:]
    begins = bool(text) and kinds[0][0] not in "LN" and text[0] not in "\r\n"
    if words.startswith("an English ending"):
        return text[0] == "'" and text[1:].lower() in ("s", "d", "m", "t", "ll", "ve", "re")
    if words.startswith(("white space", "one character of white")):
        isolated = text.isspace() and ("one character" not in words or len(text) == 1)
        if "end of the text" in words:
            return isolated and not rest
        if "last line break" in words:
            return isolated and text[-1] in "\r\n"
        return isolated and ("without its last" not in words or not rest or rest[0].isspace())
    if "digit" in words and "signs" not in words:
        digits = text.removeprefix(" ") if "space before" in words else text
        number = 3 if "three" in words else 1 if "single" in words else len(digits)
        return 0 < len(digits) <= number and all(unicodedata.category(char)[0] == "N" for char in digits)
    if words.startswith("signs"):
        signs = text.removeprefix(" ").rstrip("\r\n/" if "slashes" in words else "\r\n")
        return all(unicodedata.category(char)[0] not in "LN" and not char.isspace() for char in signs)
    for ending in ("'s", "'ll", "'t"):
        if "ending such as" in words and text.lower().endswith(ending):
            cores, kinds = cores[: -len(ending)], kinds[: -len(ending)]
    letters = cores if begins and ("space or a sign" in words or text[0] == " ") else kinds
    if words.startswith("capital letters in a row"):
        return bool(core or text) and all(kind in ("Lu", "Lt") for kind in letters)
    if words.startswith("capital letters, if any"):
        last = [index for index, kind in enumerate(letters) if kind in ("Lu", "Lt")]
        return all(kind[0] in "LM" for kind in letters) and letters[-1] not in ("Lu", "Lt") and last == sorted(last)
    assert words.startswith("letters")
    return bool(letters) and all(kind[0] in ("LM" if "marks" in words else "L") for kind in letters)


TEXT = "the oldest tale, naïve 天"


def symbols(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".symbols .t").all_text_contents()]


@pytest.fixture(scope="module")
def elsewhere(data: Path) -> Iterator[str]:
    """A playground with real vocabularies of other models."""
    names = ("t5-small.tokenizer.json", "bert-uncased.vocab.txt", "mistral-v1.model")
    with running(Catalog([str(data / "vocabs" / name) for name in names], cached=False)) as address:
        yield address


class TestSplits:
    def test_every_pretoken_has_its_number_of_tokens(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT)
        page.wait_for_selector(".split")
        explanation = SMALL.explain(TEXT)
        assert page.locator(".split small").all_text_contents() == [str(len(p.ids)) for p in explanation.pretokens]
        assert "".join(page.locator(".split span").all_text_contents()) == TEXT.replace(" ", "·")

    def test_the_alternative_that_matched_a_pretoken_is_explained(self, open_page: Open) -> None:
        """In words, with the source of the pattern folded."""
        page = open_page(view="why", tokenizer="small", text=TEXT)
        page.wait_for_selector(".split")
        explanation = SMALL.explain(TEXT).to_json()
        words = {1: "letters in a row, with one space before them if there is one", 3: "signs in a row"}
        for index, pretoken in enumerate(explanation["pretokens"]):
            page.locator(".split").nth(index).click()
            number = pretoken["part"] + 1
            page.get_by_text(f"The pattern: alternative {number} of {len(explanation['pattern'])}").wait_for()
            assert words[pretoken["part"]] in page.locator(".sentence").inner_text()
            assert not page.locator(".parts").is_visible()
            assert page.locator(".parts .is .regex").text_content() == explanation["pattern"][pretoken["part"]]
        page.locator("summary").click()
        assert page.locator(".parts li:visible").count() == len(explanation["pattern"])

    def test_descriptions_of_alternatives_fit_their_matches(self, open_page: Open) -> None:
        """Of every named pattern, on texts of every kind."""
        page = open_page(view="why", tokenizer="small", text="a")
        load = "(regex) => import('/views/why/alternatives.js').then((module) => module.alternativeWords(regex))"
        seen = set()
        for name in Pattern.names():
            tok = jeton.train([TRICKY_TEXT], 256, pattern=name, progress=False)
            explanation = tok.explain(TRICKY_TEXT)
            words = [page.evaluate(load, regex) for regex in explanation.pattern_parts]
            assert None not in words, (name, explanation.pattern_parts)
            for pretoken in explanation.pretokens:
                if pretoken.part is not None:
                    text, end = pretoken.text.decode(), explanation.text[pretoken.byte_span[1] :].decode()
                    assert fits(words[pretoken.part], text, end), (name, words[pretoken.part], text)
                    seen.add(words[pretoken.part])
        assert len(seen) > 14
        assert page.evaluate(load, "[abc]+") is None

    def test_arrow_keys_move_between_pretokens(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT)
        page.locator(".split").first.focus()
        page.keyboard.press("ArrowRight")
        page.locator(".split[aria-pressed=true]", has_text="·oldest").wait_for()
        assert page.locator(".split[tabindex='0']").count() == 1
        page.keyboard.press("ArrowLeft")
        page.locator(".split[aria-pressed=true]", has_text="the").wait_for()

    def test_a_special_token_is_matched_whole(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text="a<|endoftext|>", special=True, pretoken=1)
        page.get_by_text("A special or added token, which is matched before").wait_for()


class TestRightToLeft:
    """Symbols and signs stand in the order in which they are read."""

    def test_symbols_are_ordered_from_right_to_left(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="bytes", text="\u05e9\u05dc\u05d5\u05dd")
        page.wait_for_selector(".symbols .t >> nth=7")
        lefts = page.evaluate(
            "[...document.querySelectorAll('.symbols .t')].map((symbol) => symbol.getBoundingClientRect().left)"
        )
        assert lefts == sorted(lefts, reverse=True)

    def test_merges_are_written_from_left_to_right(self, page: Any) -> None:
        word = "\u05e9\u05dc"
        tok = jeton.train([f"{word} {word}"], 5, level="char", pattern="none", progress=False)
        catalog = Catalog(cached=False)
        catalog.add("hebrew.json", tok.to_bytes())
        with running(catalog) as address:
            page.goto(f"{address}/#view=why&tokenizer=hebrew.json&text={word}")
            page.get_by_label("Last step").click()
            page.wait_for_selector(".steps .merges code >> nth=2")
            lefts = page.evaluate(
                "[...document.querySelectorAll('.steps .merges code')].map((name) => name.getBoundingClientRect().left)"
            )
            assert lefts == sorted(lefts), "one + other → both"
            page.goto("about:blank")


def test_a_text_without_merges_has_no_stepper(open_page: Open) -> None:
    page = open_page(view="why", tokenizer="bytes", text="ab")
    said = "bytes has learned no merge of these neighbors, so each character is a token. The result is 2 tokens"
    page.locator(".verdict", has_text=said).wait_for()
    assert page.locator(".stepper").is_hidden()
    assert "step 0 of 0" not in page.locator("main").inner_text()


def test_bytes_of_a_character_without_merges_are_explained(open_page: Open) -> None:
    page = open_page(view="why", tokenizer="bytes", text="猫")
    said = (
        "bytes has learned no merge of these neighbors, so each byte is a token. The result is 3 tokens: 231, 140, 171"
    )
    page.locator(".verdict", has_text=said).wait_for()


def test_unused_entries_are_split_again(open_page: Open, page: Any) -> None:
    """An answer as models with unused pieces have it."""

    def with_split(route: Any) -> None:
        answer = route.fetch().json()
        (pretoken,) = answer["pretokens"]
        last = pretoken["merges"][-1]
        middle = last["position"] + 1
        pretoken["splits"] = [
            {**{k: last[k] for k in ("position", "left", "right")}, "id": last["result"], "middle": middle}
        ]
        pretoken["ids"] = [last["left"], last["right"]]
        route.fulfill(json=answer)

    page.route("**/api/why", with_split)
    tok = SMALL
    word = next(tok.id_to_token(id) for id in range(258, 400) if len(tok.tree(id).nodes) == 3)
    open_page(view="why", tokenizer="small", text=word.replace("\u0120", " "))
    page.get_by_role("button", name="Last step").click()
    page.locator(".place", has_text="step 2 of 2").wait_for()
    assert len(symbols(page)) == 2
    page.get_by_role("button", name="Step back").click()
    page.locator(".verdict", has_text="is marked as unused in the vocabulary, so it is split again").wait_for()
    assert len(symbols(page)) == 1


class TestMerges:
    @pytest.fixture
    def steps(self) -> list[list[str]]:
        """What the symbols of ``·oldest`` are at each step."""
        explanation = SMALL.explain(TEXT)
        return [[explanation.name(id) for id in ids] for ids in explanation.sequences(explanation.pretokens[1])]

    def test_buttons_step_forward_and_back(self, open_page: Open, steps: list[list[str]]) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1)
        page.wait_for_selector(".symbols .t")
        assert len(steps) > 3
        assert symbols(page) == steps[0]
        assert page.get_by_label("Step back").is_disabled()
        for step in steps[1:]:
            page.get_by_label("Step forward").click()
            assert symbols(page) == step
        assert page.get_by_label("Step forward").is_disabled()
        page.locator(".verdict", has_text="No neighbors can merge any more.").wait_for()
        for step in steps[-2::-1]:
            page.get_by_label("Step back").click()
            assert symbols(page) == step
        page.get_by_label("Last step").click()
        assert symbols(page) == steps[-1]
        page.get_by_label("First step").click()
        assert symbols(page) == steps[0]

    def test_the_slider_and_its_keys_set_the_step(self, open_page: Open, steps: list[list[str]]) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1)
        page.get_by_label("Step", exact=True).focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert symbols(page) == steps[2]
        page.keyboard.press("End")
        assert symbols(page) == steps[-1]
        page.keyboard.press("ArrowLeft")
        assert symbols(page) == steps[-2]

    def test_competing_pairs_have_their_merge_numbers(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1)
        page.wait_for_selector(".rivals tbody tr")
        explanation = SMALL.explain(TEXT)
        for index, merge in enumerate(explanation.pretokens[1].merges):
            rows = page.locator(".rivals tbody tr").all_inner_texts()
            pairs = [(merge.left, merge.right, merge.rank), *merge.rivals]
            expected = [f"{explanation.name(a)} + {explanation.name(b)} {rank + 1}" for a, b, rank in pairs]
            assert [" ".join(row.split()) for row in rows] == expected
            pair = f"{explanation.name(merge.left)} + {explanation.name(merge.right)}"
            when = "next" if index else "first"
            here = f"{pair} merges {when}: of the {merge.num_rivals + 1} pairs here that can merge, it was learned"
            said = page.locator(".verdict").inner_text()
            assert said.startswith(here if merge.num_rivals else f"{pair} merges: no other pair")
            assert f"Its merge number is {merge.rank + 1}." in said
            marked = page.locator(".symbols .next").all_text_contents()
            assert marked == [explanation.name(merge.left), explanation.name(merge.right)]
            assert page.locator(".steps .merges li").count() == index
            page.get_by_label("Step forward").click()
        page.get_by_text("The merge number tells when training learned a merge; 1 is the first.").wait_for(
            state="hidden"
        )

    def test_a_pair_that_occurs_twice_merges_from_the_left(self, open_page: Open) -> None:
        tok = jeton.train(["banana"], 257, pattern="none", tie_break="first", progress=False)  # a + n
        page = self.opened(open_page, "banana.json", tok.to_bytes(), "banan")
        page.locator(".verdict", has_text="a + n merges: it is the only pair of neighbors that can merge.").wait_for()
        page.locator(".verdict", has_text="The pair is here 2 times: the leftmost merges first.").wait_for()
        assert page.locator(".symbols .next").all_text_contents() == ["a", "n"]
        assert page.locator(".symbols .t").nth(1).evaluate("one => one.classList.contains('next')")

    def test_a_pair_that_overlaps_itself_merges_from_the_left(self, open_page: Open) -> None:
        tok = jeton.train(["aaaa"], 257, pattern="none", progress=False)
        page = self.opened(open_page, "overlap.json", tok.to_bytes(), "aaa")
        page.locator(".verdict", has_text="The pair is here 2 times, with overlaps: the leftmost merges").wait_for()

    def test_pairs_of_one_merge_number_merge_from_the_left(self, open_page: Open) -> None:
        """In SentencePiece's BPE, pieces may have equal scores."""
        pieces = {"ab": (-1.0, "normal"), "cd": (-1.0, "normal")} | dict.fromkeys("abcd", (-9.0, "normal"))
        page = self.opened(open_page, "equal.model", write_model(pieces, "bpe"), "cdab")
        said = "c + d merges first: of the 2 pairs here that can merge, it was learned earliest. Its merge number is 1."
        page.locator(".verdict", has_text=said).wait_for()
        page.locator(".verdict", has_text="a + b has the same merge number: the leftmost merges first.").wait_for()

    def test_byte_fallback_and_unknown_characters_are_explained(self, open_page: Open) -> None:
        pieces = {f"<0x{byte:02X}>": (0.0, "byte") for byte in range(256)} | {"a": (-1.0, "normal")}
        page = self.opened(open_page, "bytes.model", write_model(pieces, "bpe", byte_fallback=True), "a\u00e9a")
        said = "A character that is not in the vocabulary becomes the tokens of its bytes (byte fallback)."
        page.locator(".verdict", has_text=f"{said} The result is 4 tokens").wait_for()
        page = self.opened(open_page, "unknown.model", write_model({"a": (-1.0, "normal")}, "bpe"), "a\u00e9\u00e9a")
        said = "Neighboring characters that are not in the vocabulary become one unknown token."
        page.locator(".verdict", has_text=f"{said} The result is 3 tokens").wait_for()

    def opened(self, open_page: Open, name: str, data: bytes, text: str) -> Any:
        """The page with a tokenizer that was opened there."""
        page = open_page(view="why", text=text)
        page.set_input_files("#file", {"name": name, "mimeType": "application/octet-stream", "buffer": data})
        page.get_by_text(f"{name} is open").wait_for()
        return page

    def test_merging_symbols_are_animated(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text="the oldest", pretoken=1)
        page.wait_for_selector(".symbols .t")
        moving = """() => {
            document.querySelector('[aria-label="Step forward"]').click();
            return new Promise((done) => requestAnimationFrame(() => {
                const all = document.getAnimations().filter((one) => one.effect.target.closest(".symbolbox"));
                done(all.map((one) => [one.effect.getTiming().duration, one.effect.target.closest(".layer") !== null]));
            }));
        }"""
        animations = page.evaluate(moving)
        assert {duration for duration, _ in animations} == {200}
        assert [1 for _, is_copy in animations if is_copy] == [1], "the symbol that was absorbed"
        page.locator(".layer .t").wait_for(state="detached")
        page.emulate_media(reduced_motion="reduce")
        assert page.evaluate(moving) == []

    def test_the_address_holds_the_step(self, open_page: Open, steps: list[list[str]]) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1, step=3)
        page.wait_for_selector(".symbols .t")
        assert symbols(page) == steps[3]
        page.get_by_text(f"step 3 of {len(steps) - 1}", exact=True).wait_for()

    @pytest.mark.parametrize(("pretoken", "step"), [(99, 99), (-1, -1), ("x", 1.5), ([], {})])
    def test_an_out_of_range_pretoken_or_step_shows_a_valid_one(
        self, open_page: Open, pretoken: object, step: object
    ) -> None:
        page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=pretoken, step=step)
        page.wait_for_selector(".symbols .t")

    def test_character_merges_end_at_the_tokens(self, open_page: Open) -> None:
        tok = tokenizer("char gpt2")
        page = open_page(view="why", tokenizer="characters", text="the oldest tale")
        page.wait_for_selector(".split")
        explanation = tok.explain("the oldest tale")
        for index, pretoken in enumerate(explanation.pretokens):
            page.locator(".split").nth(index).click()
            if pretoken.merges:
                page.get_by_label("Last step").click()
                assert symbols(page) == [explanation.name(id) for id in pretoken.ids]


class TestOthers:
    @pytest.fixture
    def there(self, elsewhere: str, chromium: Any, problems: Problems) -> Iterator[Any]:
        page = chromium.new_page(base_url=elsewhere)
        problems.watch(page)
        yield page
        page.close()
        assert not problems

    def test_unigram_shows_the_lattice_and_its_scores(self, there: Any, data: Path) -> None:
        there.goto("/#view=why&tokenizer=t5-small&text=lower+tokens&pretoken:=1")
        there.wait_for_selector(".lattice .best")
        tok = jeton.load(data / "vocabs" / "t5-small.tokenizer.json")
        explanation = tok.explain("lower tokens")
        lattice = explanation.pretokens[1].lattice
        assert lattice is not None
        best = there.locator(".lattice .best text:not(.score)").all_text_contents()
        assert best == [explanation.name(edge.id) for edge in lattice.best.edges if edge.id is not None]
        assert there.locator(".lattice .edge").count() == lattice.num_edges
        scores = [float(text) for text in there.locator(".ways td.rank").all_inner_texts()]
        assert scores == [round(path.score, 3) for path in (lattice.best, *lattice.others)]
        assert scores == sorted(scores, reverse=True)
        said = there.locator(".steps").inner_text()
        assert f"Places where a piece of the vocabulary matches: {lattice.num_edges}." in said
        times = math.exp(lattice.best.score - lattice.others[0].score)
        assert f"has the highest sum, {lattice.best.score:.2f}; the next best" in said
        assert f"which means {times:.1f} times less probable" in said or times > 10
        assert axe_violations(there) == []

    def test_unknown_characters_are_edges_of_no_piece_and_fused(self, there: Any, data: Path) -> None:
        there.goto("/#view=why&tokenizer=t5-small&text=今天 weather")
        there.wait_for_selector(".lattice .best")
        said = there.locator(".steps").inner_text()
        assert "Places where a piece of the vocabulary matches: 1." in said
        assert "Characters without a piece: 2. Each is an unknown edge" in said
        assert "▁ | unknown | unknown is the only segmentation." in said
        assert "Unknown characters in a row are fused into one unknown token: 3 edges, 2 tokens." in said
        assert there.locator(".split small").first.text_content() == "2"
        assert (
            len(jeton.load(data / "vocabs" / "t5-small.tokenizer.json").explain("今天 weather").pretokens[0].ids) == 2
        )

    def test_wordpiece_shows_the_longest_entries(self, there: Any, data: Path) -> None:
        there.goto("/#view=why&tokenizer=bert-uncased&text=tokenizers")
        there.wait_for_selector(".longest tbody tr")
        tok = jeton.load(data / "vocabs" / "bert-uncased.vocab.txt")
        ids = [int(text) for text in there.locator(".longest td.rank").all_inner_texts()]
        assert ids == tok.encode("tokenizers")
        chips = there.locator(".longest .chip").all_inner_texts()
        assert "".join(chips) == "tokenizers"
        reasons = there.locator(".longest .reason").all_inner_texts()
        left = [len("tokenizers") - len("".join(chips[: index + 1])) for index in range(len(chips))]
        for reason, more in zip(reasons, left, strict=True):
            several = f"none of the {more} longer candidates is in the vocabulary"
            assert reason.startswith({0: "all that is left", 1: "the only longer candidate"}.get(more, several))
        assert axe_violations(there) == []

    def test_sentencepiece_merges_end_at_the_tokens(self, there: Any, data: Path) -> None:
        there.goto("/#view=why&tokenizer=mistral-v1&text=hello+world")
        there.wait_for_selector(".symbols .t")
        there.get_by_label("Last step").click()
        tok = jeton.load(data / "vocabs" / "mistral-v1.model")
        explanation = tok.explain("hello world")
        assert symbols(there) == [explanation.name(id) for id in explanation.pretokens[0].ids]


def test_entries_that_begin_a_word_do_not_continue_one(open_page: Open) -> None:
    """``able`` is an entry, and ``##able`` is not."""
    model = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "un": 1, "able": 2}}
    model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    file = json.dumps({"model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}}).encode()
    page = open_page(view="why", text="unable")
    page.set_input_files("#file", {"name": "words.json", "mimeType": "application/json", "buffer": file})
    said = "No entry that continues a word, with ##, is a beginning of able, so the whole pretoken is unknown: 0."
    page.locator(".verdict", has_text=said).wait_for()
    page.get_by_label("Text", exact=True).fill("xun")
    page.locator(".verdict", has_text="No entry is a beginning of xun, so the whole pretoken is unknown: 0.").wait_for()


def test_the_explanation_is_in_chinese(open_page: Open) -> None:
    page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1, lang="zh")
    page.locator(".verdict", has_text="合并序号为").wait_for()
    page.locator(".sentence", has_text="是一个预切分片段：连续的字母").wait_for()
    assert not re.search(r"[A-Za-z]{4}", page.locator(".verdict").inner_text().replace("oldest", ""))


class TestHostile:
    @pytest.mark.parametrize(
        "text", ["<img src=x onerror=alert(1)>", "a\u202eb\u200bc", "\x00\x1b[31m", "z" + "\u0301" * 50]
    )
    def test_hostile_text_is_shown_and_not_executed(self, open_page: Open, text: str) -> None:
        page = open_page(view="why", tokenizer="bytes", text=text)
        page.on("dialog", lambda dialog: pytest.fail("a dialog"))
        page.wait_for_selector(".symbols .t")
        assert page.locator("main img").count() == 0
        shown = "".join(symbols(page))
        assert not {"\u202e", "\u200b", "\x00", "\x1b"} & set(shown)

    def test_the_beginning_of_a_long_text_is_explained(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small")
        page.get_by_label("Text", exact=True).fill("the oldest tale " * 10_000)
        page.get_by_text("The first 10,000 characters of 160,000 are explained").wait_for()
        page.wait_for_selector(".split")

    def test_a_long_word_can_be_stepped_through(self, open_page: Open) -> None:
        page = open_page(view="why", tokenizer="small", text="oldtale" * 100)
        page.get_by_label("Last step").click()
        page.locator(".verdict", has_text="No neighbors can merge any more.").wait_for()
        tokens = [SMALL.explain("").name(id) for id in SMALL.encode("oldtale" * 100)]
        assert symbols(page) == tokens


@pytest.mark.parametrize(
    "context_options", [{"color_scheme": "light"}, {"color_scheme": "dark"}], ids=["light", "dark"]
)
def test_the_view_has_no_accessibility_violations(open_page: Open, context_options: dict[str, Any]) -> None:
    page = open_page(view="why", tokenizer="small", text=TEXT, pretoken=1, step=2)
    page.wait_for_selector(".symbols .t")
    page.locator("summary").click()
    assert axe_violations(page) == []
