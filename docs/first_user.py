"""Introductory example, from two text files to the ids of a chat turn.

Run it with ``python docs/first_user.py``. A test compares its output with ``first_user.txt``. The last part runs in a
new process, which loads the saved file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import jeton

ENGLISH = """\
The weather station stands on a small hill above the town. Every morning the keeper of the station walks up the hill,
reads the weather from the instruments, and writes down the wind, the rain and the temperature. Then the keeper looks at
the sky, because the sky shows the weather of the afternoon before any instrument does. When the clouds stand high and
the wind is still, the weather will be good. When the clouds are low and the wind turns to the west, there will be rain
before the evening. In the evening somebody in the town asks: what is the weather tomorrow? And the keeper answers.
"""
CHINESE = """\
气象站在小镇上面的小山上。每天早上，看守气象站的人走上小山，看一看仪器，记下今天的天气：今天的风，今天的雨，今天的气温。
然后，他看一看天空，因为天空比仪器更早知道下午的天气。云高风静，今天的天气就好；云低风急，晚上就会下雨。
到了晚上，小镇上的人总要问他：明天的天气好不好？他就看着天空说：今天的天气很好，明天的天气也很好。
"""
SPECIAL_TOKENS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|padding|>"]
CHAT = "<|im_start|>user\n今天的天气好吗？<|im_end|>\n<|im_start|>assistant\nThe weather is good.<|im_end|>\n"


def headline(text: str) -> None:
    """Prints a headline."""
    print(f"\n── {text}")


def learn(folder: Path) -> Path:
    """Trains on two files and saves the tokenizer."""
    headline("1. A corpus: two text files, one in English and one in Chinese")
    corpus = {"english.txt": ENGLISH, "chinese.txt": CHINESE}
    for name, text in corpus.items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text)} characters, {len(text.encode())} bytes")

    headline("2. Train: 300 tokens are the 256 bytes and 44 merges")
    tok = jeton.train([folder / name for name in corpus], vocab_size=300, progress=False)
    print(tok.vocab_size, "tokens, of which", len(tok.merges), "were learned")
    for left, right, new in tok.merges[:4]:
        print(f"  {left} + {right} -> {new}, {readable(tok.vocab[new])}")

    headline("3. Add four special tokens: they take the next free ids, and no old id moves")
    chat = tok.add_tokens(SPECIAL_TOKENS)
    print(dict(chat.special_tokens))
    print("vocab_size:", chat.vocab_size)
    print("every old id still means the same bytes:", all(chat.vocab[id] == tok.vocab[id] for id in tok.vocab))
    print("the old text still has the same ids:", chat.encode(CHINESE) == tok.encode(CHINESE))

    headline("4. Save: one tokenizer.json, which Hugging Face libraries read too")
    path = folder / "weather.json"
    chat.save(path)
    print(f"{path.name}: {chat.vocab_size} tokens, fingerprint {chat.fingerprint[:19]}…")
    return path


def use(path: Path) -> None:
    """Runs in a new process: loads the file and encodes a chat turn."""
    headline("5. In a new process: load")
    tok = jeton.load(path)
    print(f"{path.name}: {tok.vocab_size} tokens, fingerprint {tok.fingerprint[:19]}…")

    headline("6. Encode a chat turn, with permission: special tokens in the text become control ids")
    with_permission = tok.encode(CHAT, special="all")
    print(with_permission)

    headline("7. The same without permission, which is the default: they are plain text, and no id is above 299")
    without = tok.encode(CHAT)
    print(without)
    print("highest id:", max(without))

    headline("8. Decode: both give the text back")
    print(tok.decode(with_permission), end="")
    print("with permission:", tok.decode(with_permission) == CHAT)
    print("without:", tok.decode(without) == CHAT)
    print("for people, without the control tokens:", repr(tok.decode(with_permission, skip_special_tokens=True)))

    headline("9. The vocabulary: ids 0 to 255 are the bytes; these came after them")
    made_from = {new: f"{left}+{right}" for left, right, new in tok.merges}
    for id in range(256, tok.vocab_size):
        token = tok.vocab[id]
        origin, spelled = (made_from[id], token.hex(" ")) if id in made_from else ("special", "")
        print(f"{id}  {origin:<8}  {spelled:<27}  {readable(token)}")

    headline("10. The compression: how many bytes of text one token stands for")
    for name, text in (("English", ENGLISH), ("Chinese", CHINESE)):
        found = jeton.measure(tok, [text], progress=False)
        print(f"{name}: {found.bytes} bytes in {found.tokens} tokens, {found.bytes_per_token:.2f} bytes per token")


def readable(token: bytes) -> str:
    """A token as text, or its bytes where they are only a part of a character."""
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return "part of a character"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        use(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = learn(Path(folder))
            sys.stdout.flush()
            subprocess.run([sys.executable, __file__, path], check=True)
