"""Edge cases: short hand-written texts on which tokenizers fail or libraries differ.

Comparisons start with these texts, because a difference on a short text points to its cause. `INVALID_UTF8` has invalid
byte sequences.

Left out: long texts, which `generated_texts` generates.
"""

from __future__ import annotations

__all__ = ["EDGE_CASES", "INVALID_UTF8"]

_EDGES = (
    "",
    " ",
    "  ",
    "\n",
    "\t",
    "a",
    " a",
    "a ",
    " a ",
    "  a  b  ",
    "\na\n",
    "a\n\nb",
    "\r\n",
    "\r",
    "a\r\nb\r\n\r\nc\rd",
    " \n \n ",
    "a  \n  b",
    "\t\tif x:\n\t\t\treturn  0\n",
    "    four\n        eight",
    "trailing   ",
    "trailing\n",
    "a\n ",
    "\u00a0",
    "a\u00a0b \u00a0 c",
    "\u3000全角\u3000空白",
    "line\u2028separator\u2029paragraph",
    "vertical\x0btab\x0cfeed\x1cfile\x1dgroup\x1erecord\x1funit\x85next",
    "en\u2002em\u2003thin\u2009hair\u200afigure\u2007ogham\u1680narrow\u202fmath\u205f",
    "zero\u200bwidth\u200cnon\u200djoiner\u2060word\ufeffbom",
    "\ufeffbom first",
    "\u180emongolian",
    "soft\u00adhyphen",
    " " * 15 + "x",
    " " * 16 + "x",
    "\n" * 9 + " " * 9,
)

_WORDS = (
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    "don't can't we'll I'm you're they've he'd it's",
    "DON'T CAN'T WE'LL I'M YOU'RE THEY'VE HE'D IT'S",
    "Don'T 'tis 'Twas o'clock 'n' rock'n'roll",
    "it\u2019s we\u2019ll \u2018quoted\u2019",
    "'s's'S 'ſ '\u017f 'ss 'll'LL'lL 'K '\u212a",
    "''' '' ' 'a 'a' a'",
    "HTTPServer XMLHttpRequest iPhone eBay McDonald",
    "ALLCAPS Title lower mIxEd aB Ab AB ab",
    "camelCaseAndPascalCase snake_case_name kebab-case-name SCREAMING_SNAKE",
    "ǅ ǈ ǋ ᾈ ᾳ ß ẞ ﬀ ŉ İ ı i̇ K Å",
    "ΑΣΣ ΣΑΣ σς Σ",
    "STRASSE straße STRAẞE",
    "I\u0307stanbul İstanbul ıstanbul",
    "ʰ ª º ˢ ⁿ ₐ",
    "naïve café résumé coöperate Ångström",
    "nai\u0308ve cafe\u0301 A\u030angstro\u0308m",
    "e\u0301\u0301\u0301 \u0301 \u0301a",
    "Z\u0351\u036b\u0343a\u0328\u0301l\u0334g\u0321o\u0337",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "Donaudampfschifffahrtsgesellschaftskapitän",
    "a" * 100,
    "ab" * 60,
    "A" * 17 + "a" * 17,
    "the the the the the the",
    "of the of the of the",
)

_NUMBERS = (
    "0",
    "00",
    "007",
    "1 12 123 1234 12345 123456 1234567",
    "3.14159 2.71828 1e10 -5 +7 1,000,000 1_000_000",
    "0x1F 0b1010 0o777 1e-9 .5 5.",
    "2026-11-20T14:09:28Z 12:34:56",
    "192.168.0.1 ::1 fe80::1",
    "٠١٢٣٤٥ ०१२३४५ ๐๑๒๓ ０１２３ 𝟎𝟏𝟐𝟑 ۰۱۲۳",
    "½ ¼ ¾ ⅓ ² ³ ¹ ₁₂₃ Ⅷ ⅷ ① ⑫ ㊿ ㉈",
    "一二三四五六七八九十 壱弐参 百千万億",
    "1st 2nd 3rd 4th 10% $5.99 €10 ¥100 £3 ₹500 ₿1",
    "1a2b3c a1b2c3",
    "9" * 40,
)

_SIGNS = (
    "!",
    "!!!",
    "?!?!",
    "...",
    "…",
    "-- --- — – ―",
    "a.b,c;d:e!f?g",
    "(a) [b] {c} <d> \"e\" 'f' `g`",
    "“curly” ‘single’ «guillemets» „low“ 「角」『括』",
    "@user #tag $var %d ^x &y *z ~w |v",
    "/ // /// \\ \\\\ \\n",
    "a/b\\c",
    "!\n!\n\n!/\n/",
    ".\r\n.\r\n",
    "----------------------------------------",
    "================",
    "#" * 30 + " heading",
    "* * * - - - _ _ _",
    "±×÷≠≤≥∞∑∏√∫∂∇∈∉⊂⊃∪∩∧∨¬∀∃",
    "←↑→↓↔⇒⇔ ■□▲△●○★☆ ♠♥♦♣ ♪♫",
    "─│┌┐└┘├┤┬┴┼ ░▒▓█",
    "©®™§¶†‡•",
    "a\u2044b a\u2215b",
    "x² + y² = z²; E=mc²; H₂O",
)

_SCRIPTS = (
    "今天的天气很好，明天的天气不好。",
    "我们出去走走吧！你好吗？",
    "繁體中文與简体中文混排English夹杂123数字",
    "吾輩は猫である。名前はまだ無い。",
    "カタカナ ﾊﾝｶｸｶﾀｶﾅ ひらがな ヴァイオリン",
    "か\u3099 カ\u3099 ﾊ\uff9f は\u309a",
    "안녕하세요 세계! 가나다라마바사",
    "\u1112\u1161\u11ab\u1100\u1173\u11af 한글 ㅎㅏㄴ",
    "สวัสดีชาวโลก กำลังทดสอบ น้ำ",
    "नमस्ते दुनिया क्षत्रिय कि की",
    "வணக்கம் உலகம் కి ಕನ್ನಡ മലയാളം",
    "مرحبا بالعالم ـــ لا إله",
    "مَرْحَبًا بِكَ",
    "שלום עולם שָׁלוֹם",
    "Привет, мир! Ёлка ёлка Й й",
    "Γειά σου Κόσμε ά ά",
    "Tiếng Việt: Nguyễn Thị Ánh đặng",
    "Türkçe İğüşöç Polski ąęćłńóśźż Čeština řžšč",
    "ქართული ᲥᲐᲠᲗᲣᲚᲘ հայերեն Հայերեն",
    "አማርኛ ትግርኛ",
    "ខ្មែរ ລາວ မြန်မာ བོད་ཡིག",
    "ᠮᠣᠩᠭᠣᠯ ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ",
    "𐍈𐌹𐌳𐌰 𓀀𓁐 𒀀𒁀 𝒜𝓑𝔠 𠀀𠮷𪚥 𞤀𞤢",
    "ﷺ ﷽ ﬁ ﬂ ﬃ ﬅ",
    "ＦＵＬＬ ｗｉｄｔｈ １２３ ！？",
    "㈱ ㍿ ㎏ ㌔ ㋿ Ⓐ ⓐ 🄰 🅰",
    "豈 更 車 賈",
    "㐀㐁 䶵 𠀁 𪜀 𫝀 𰀀",
)

_EMOJI = (
    "😀😉🤔",
    "👩\u200d👩\u200d👧\u200d👦 👨\u200d💻",
    "👍🏽 👋🏿 🤷🏻\u200d♀\ufe0f",
    "🇫🇷🇩🇪🇯🇵🇫",
    "1\ufe0f\u20e3 #\ufe0f\u20e3 *\u20e3",
    "❤\ufe0f ❤\ufe0e ☺ ☺\ufe0f",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f",
    "text😀text 😀 text",
    ":-) ;-) <3 (╯°□°)╯︵ ┻━┻ ¯\\_(ツ)_/¯",
)

_CODE = (
    "def f(x):\n    return [i for i in range(x)]  # comment\n",
    "if (a != b && c <= d) { return e->f; } // note\n",
    '#include <stdio.h>\nint main(void) { printf("%d\\n", 0); }\n',
    '<div class="a"><p>text</p>&amp;&nbsp;</div>',
    "SELECT * FROM t WHERE a = 'b''c' -- comment",
    '{"key": [1, 2.5, null, true], "k\\u00e9y": "v"}',
    "https://example.com/path?q=1&r=%20#frag",
    "someone@example.org C:\\Users\\me ~/.config/x",
    "$ echo \"$HOME\" | grep -E '^/[a-z]+' > /dev/null 2>&1",
    "x = y\t\t# tab\n\n\n\nclass A:\n\tpass",
    "```python\nprint('hi')\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "\\frac{a}{b} \\begin{align} x_{i}^{2} \\end{align}",
    "deadbeefcafebabe 0123456789abcdef",
    "dGhlIHF1aWNrIGJyb3duIGZveA==",
    "550e8400-e29b-41d4-a716-446655440000",
)

# Marker characters and special tokens that libraries use in texts or tokens.
_MARKS = (
    "▁the ▁ ▁▁",
    "a▁b ▁a",
    "Ġthe Ċ ĉ Ģ",
    "##ing ## #",
    "the</w> </w> <w>",
    "<0x0A> <0x00> <0xFF>",
    "<unk> [UNK] <s> </s> <pad> [CLS] [SEP] [MASK] <mask>",
    "<|endoftext|> <|endof text|> <|endoftext",
    "<|im_start|>user\nhi<|im_end|>",
    "<s>a</s> <s> a </s>",
    "[INST] hi [/INST] <<SYS>>",
    "<start_of_turn>user\n<end_of_turn>",
    "@@ a@@ b",
    "\u2047 \ufffd \ufffc",
    "a\ufffdb\ufffd\ufffd",
    "\ue000\uf8ff\U000f0000\U0010fffd",
    "\uffff\ufffe\ufdd0\U0010ffff",
    "\x00",
    "a\x00b",
    "\x01\x02\x7f\x80\x9f",
    "\x1b[31mred\x1b[0m",
    "\u202eright to left\u202c \u2066isolate\u2069",
)

EDGE_CASES: tuple[str, ...] = (*_EDGES, *_WORDS, *_NUMBERS, *_SIGNS, *_SCRIPTS, *_EMOJI, *_CODE, *_MARKS)

# Each kind of invalid UTF-8 sequence.
INVALID_UTF8: tuple[bytes, ...] = (
    b"\x80",  # a continuation byte without a lead byte
    b"\xbf\xbf",
    b"\xc3",  # truncated
    b"\xe4\xbb",
    b"\xf0\x9f\x98",
    b"\xc0\xaf",  # overlong
    b"\xc1\xbf",
    b"\xe0\x80\xaf",
    b"\xf0\x80\x80\xaf",
    b"\xed\xa0\x80",  # surrogates
    b"\xed\xbf\xbf",
    b"\xed\xa0\xbd\xed\xb8\x80",
    b"\xf4\x90\x80\x80",  # beyond U+10FFFF
    b"\xf5\x80\x80\x80",
    b"\xfe",
    b"\xff",
    b"\xff\xfe",
    b"a\xffb",
    b"\xe4\xbb\xe4\xbb\x8a",  # truncated, before a complete character
    b"\xe4 \xbb \x8a",
    b"\xf0\x9f\x98\n\x80",
)
