"""Names that `jeton.load` accepts: the default tokenizer, the registry, models, Ollama, and the hub's repositories.

A model's name is accepted only if its publisher documents which tokenizer it uses. For other families of models, the
error suggests a repository of their publisher. Left out: downloading (`remote`).

Sources: openai/tiktoken tiktoken/model.py (models and prefixes); the hub's redirects of repository names without owner;
meta-llama/llama-models (3.2 and 3.3 have the tokenizer of 3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .builtin import NAME as DEFAULT
from .registry import REGISTRY

__all__ = ["MODELS", "MODEL_PREFIXES", "NamedTokenizer", "is_pinned", "models", "names", "nearest", "resolve"]

HUB = "hf:"
OLLAMA = "ollama:"

# Name of a tokenizer of the registry -> models that use this tokenizer.
MODELS: dict[str, tuple[str, ...]] = {
    "o200k_base": ("gpt-5", "gpt-4.1", "gpt-4o", "o1", "o3", "o4-mini"),
    "o200k_harmony": (),
    "cl100k_base": (
        *("gpt-4", "gpt-3.5-turbo", "gpt-3.5", "gpt-35-turbo", "davinci-002", "babbage-002"),
        *("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"),
    ),
    "p50k_base": (
        *("text-davinci-003", "text-davinci-002", "code-davinci-002", "code-davinci-001", "code-cushman-002"),
        *("code-cushman-001", "davinci-codex", "cushman-codex"),
    ),
    "p50k_edit": ("text-davinci-edit-001", "code-davinci-edit-001"),
    "r50k_base": (
        *("text-davinci-001", "text-curie-001", "text-babbage-001", "text-ada-001", "davinci", "curie", "babbage"),
        *("ada", "text-similarity-davinci-001", "text-similarity-curie-001", "text-similarity-babbage-001"),
        *("text-similarity-ada-001", "text-search-davinci-doc-001", "text-search-curie-doc-001"),
        *("text-search-babbage-doc-001", "text-search-ada-doc-001", "code-search-babbage-code-001"),
        "code-search-ada-code-001",
    ),
    "gpt2": ("gpt-2",),
}
# Prefix of a model's name -> name in the registry; the longest matching prefix is used.
MODEL_PREFIXES = {
    "gpt-5": "o200k_base",
    "gpt-4.5-": "o200k_base",
    "gpt-4.1-": "o200k_base",
    "gpt-4o-": "o200k_base",
    "chatgpt-4o-": "o200k_base",
    "o1-": "o200k_base",
    "o3-": "o200k_base",
    "o4-mini-": "o200k_base",
    "ft:gpt-4o": "o200k_base",
    "gpt-oss-": "o200k_harmony",
    "gpt-4-": "cl100k_base",
    "gpt-3.5-turbo-": "cl100k_base",
    "gpt-35-turbo-": "cl100k_base",
    "ft:gpt-4": "cl100k_base",
    "ft:gpt-3.5-turbo": "cl100k_base",
    "ft:davinci-002": "cl100k_base",
    "ft:babbage-002": "cl100k_base",
}
_SHORT = {"o200k": "o200k_base", "cl100k": "cl100k_base", "p50k": "p50k_base", "r50k": "r50k_base"}

# Owner on the hub -> repositories whose names are used without the owner; the hub redirects these names.
_OWNERS = {
    "google-bert": (
        *("bert-base-uncased", "bert-base-cased", "bert-large-uncased", "bert-large-cased", "bert-base-chinese"),
        *("bert-base-multilingual-cased", "bert-base-multilingual-uncased", "bert-base-german-cased"),
    ),
    "FacebookAI": ("roberta-base", "roberta-large", "xlm-roberta-base", "xlm-roberta-large"),
    "distilbert": (
        *("distilbert-base-uncased", "distilbert-base-cased", "distilbert-base-multilingual-cased"),
        *("distilroberta-base", "distilgpt2"),
    ),
    "google-t5": ("t5-small", "t5-base", "t5-large", "t5-3b", "t5-11b"),
    "openai-community": ("gpt2-medium", "gpt2-large", "gpt2-xl", "openai-gpt"),
    "albert": ("albert-base-v2", "albert-large-v2", "albert-xlarge-v2", "albert-xxlarge-v2"),
    "xlnet": ("xlnet-base-cased", "xlnet-large-cased"),
    "almanach": ("camembert-base",),
}

# Family of models -> tokenizers to suggest for it: names of the registry, or repositories of the publisher. Keys are
# spelled as `_spelled` returns them. A key that ends with a digit stands for one version only: "qwen3.5" does not
# belong to the family "qwen3".
_FAMILIES: dict[str, tuple[str, ...]] = {
    "codellama": ("hf:codellama/CodeLlama-7b-hf",),
    "command-r": ("hf:CohereLabs/c4ai-command-r-v01",),
    "deepseek": ("hf:deepseek-ai/DeepSeek-V3", "hf:deepseek-ai/DeepSeek-R1"),
    "deepseek-r1": ("hf:deepseek-ai/DeepSeek-R1",),
    "deepseek-v3": ("hf:deepseek-ai/DeepSeek-V3",),
    "deepseek-v3.1": ("hf:deepseek-ai/DeepSeek-V3.1",),
    "deepseek-v3.2": ("hf:deepseek-ai/DeepSeek-V3.2",),
    "falcon": ("hf:tiiuae/falcon-7b",),
    "gemma": ("hf:google/gemma-3-4b-it", "hf:google/gemma-2-9b-it"),
    "gemma2": ("hf:google/gemma-2-9b-it",),
    "gemma3": ("hf:google/gemma-3-4b-it",),
    "gemma4": ("hf:google/gemma-4-31B-it",),
    "glm": ("hf:zai-org/GLM-4.5", "hf:zai-org/GLM-4.6"),
    "glm4": ("hf:zai-org/GLM-4-9B-0414",),
    "glm4.5": ("hf:zai-org/GLM-4.5",),
    "glm4.6": ("hf:zai-org/GLM-4.6",),
    "glm4.7": ("hf:zai-org/GLM-4.7-Flash",),
    "gpt-oss": ("o200k_harmony", "hf:openai/gpt-oss-20b"),
    "granite": ("hf:ibm-granite/granite-3.3-2b-instruct",),
    "kimi-k2": ("kimi_k2",),
    "llama2": ("hf:meta-llama/Llama-2-7b-hf",),
    "llama3": ("llama3", "hf:meta-llama/Meta-Llama-3-8B-Instruct"),
    **dict.fromkeys(("llama3.1", "llama3.3"), ("llama3.1", "hf:meta-llama/Llama-3.1-8B-Instruct")),
    "llama3.2": ("llama3.1", "hf:meta-llama/Llama-3.2-3B-Instruct"),
    "llama4": ("llama4",),
    "minimax-m2": ("hf:MiniMaxAI/MiniMax-M2",),
    "ministral": ("hf:mistralai/Ministral-3-14B-Reasoning-2512",),
    "mistral": ("hf:mistralai/Mistral-7B-Instruct-v0.3", "hf:mistralai/Mistral-Small-3.2-24B-Instruct-2506"),
    "mistral-nemo": ("hf:mistralai/Mistral-Nemo-Instruct-2407",),
    "mistral-small": ("hf:mistralai/Mistral-Small-3.2-24B-Instruct-2506",),
    "mixtral": ("hf:mistralai/Mixtral-8x7B-Instruct-v0.1",),
    "olmo2": ("hf:allenai/OLMo-2-1124-7B",),
    "phi": ("hf:microsoft/phi-4", "hf:microsoft/Phi-3.5-mini-instruct"),
    "phi2": ("hf:microsoft/phi-2",),
    "phi3": ("hf:microsoft/Phi-3-mini-4k-instruct",),
    "phi3.5": ("hf:microsoft/Phi-3.5-mini-instruct",),
    "phi4": ("hf:microsoft/phi-4",),
    "qwen2": ("hf:Qwen/Qwen2-7B-Instruct",),
    "qwen2.5": ("hf:Qwen/Qwen2.5-7B-Instruct",),
    "qwen3": ("hf:Qwen/Qwen3-8B",),
    "qwq": ("hf:Qwen/QwQ-32B",),
    "smollm3": ("hf:HuggingFaceTB/SmolLM3-3B",),
    "starcoder2": ("hf:bigcode/starcoder2-7b",),
    "whisper": ("hf:openai/whisper-tiny", "hf:openai/whisper-large-v3"),
}
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?:@[\w.-]+)?", re.ASCII)
_OLLAMA_MODEL = re.compile(r"[\w.-]+(?:/[\w.-]+)?:[\w.-]+", re.ASCII)
_FILE_SUFFIXES = (".json", ".model", ".txt", ".tiktoken", ".gguf", ".bpe", ".vocab", ".bin")

_ALIASES = {
    **_SHORT,
    **{model: name for name, models in MODELS.items() for model in models},
    **{name: f"{HUB}{owner}/{name}" for owner, repositories in _OWNERS.items() for name in repositories},
}


@dataclass(frozen=True, slots=True)
class NamedTokenizer:
    """A tokenizer that `jeton.load` accepts by name.

    Attributes:
        name: main name of the tokenizer.
        source: origin of the tokenizer: ``"jeton"`` (it ships with Jeton), the URL of its file, the hub, or
            ``"ollama"``.
        aliases: other names that load it.
        models: models that use it; their names load it, too.
        model_prefixes: names of models with one of these prefixes load it, too.
        is_local: whether it loads without network access, because it ships with Jeton or is in a cache of this machine.

    Examples:
        >>> import jeton
        >>> jeton.names()[0]
        NamedTokenizer(name='default', source='jeton', aliases=(), models=(), model_prefixes=(), is_local=True)
    """

    name: str
    source: str
    aliases: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    model_prefixes: tuple[str, ...] = ()
    is_local: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as JSON.

        Examples:
            >>> NamedTokenizer("default", "jeton").to_json()["source"]
            'jeton'
        """
        return asdict(self)


def names() -> list[NamedTokenizer]:
    """Lists the tokenizers that can be loaded by name. ``"hf:owner/name"`` loads any other tokenizer of the hub.

    Returns:
        The default tokenizer, the tokenizers of the registry, repositories of the Hugging Face hub that can be named
        without their owner, and the models that Ollama has on this machine.

    Examples:
        >>> import jeton
        >>> {tok.name: tok.models[:3] for tok in jeton.names()}["o200k_base"]
        ('gpt-5', 'gpt-4.1', 'gpt-4o')
    """
    from .remote import on_this_machine  # imported here because it imports the HTTP client

    local = on_this_machine()
    listed = [NamedTokenizer(DEFAULT, "jeton", is_local=True)]
    for name, known in REGISTRY.items():
        aliases = tuple(short for short, long in _SHORT.items() if long == name)
        prefixes = tuple(prefix for prefix, target in MODEL_PREFIXES.items() if target == name)
        listed.append(NamedTokenizer(name, known.url, aliases, MODELS.get(name, ()), prefixes, name in local))
    for owner, repositories in _OWNERS.items():
        for repository in repositories:
            name = f"{HUB}{owner}/{repository}"
            url = f"https://huggingface.co/{owner}/{repository}"
            listed.append(NamedTokenizer(name, url, (repository,), is_local=name in local))
    ollama = [name for name in local if name.startswith(OLLAMA)]
    return listed + [NamedTokenizer(name, "ollama", is_local=True) for name in ollama]


def models() -> dict[str, tuple[str, ...]]:
    """Returns name of a tokenizer -> models and families of models that use it.

    Examples:
        >>> models()["o200k_base"][:3], models()["hf:Qwen/Qwen3-8B"]
        (('gpt-5', 'gpt-4.1', 'gpt-4o'), ('qwen3',))
    """
    found = dict(MODELS)
    for family, targets in _FAMILIES.items():
        first = targets[0]  # the tokenizer of the family's newest models
        found[first] = (*found.get(first, ()), family)
    return found


def resolve(name: str) -> str | None:
    """Resolves an alias or a model to the name of its tokenizer; None if unknown. Main names stay unchanged.

    Examples:
        >>> resolve("o200k"), resolve("gpt-4o-2024-05-13"), resolve("bert-base-uncased"), resolve("gpt")
        ('o200k_base', 'o200k_base', 'hf:google-bert/bert-base-uncased', None)
    """
    if name == DEFAULT or name in REGISTRY or name.startswith((HUB, OLLAMA)):
        return name
    if name in _ALIASES:
        return _ALIASES[name]
    prefix = max((prefix for prefix in MODEL_PREFIXES if name.startswith(prefix)), key=len, default=None)
    return None if prefix is None else MODEL_PREFIXES[prefix]


def is_pinned(name: str) -> bool:
    """Tests whether the content of a resolved name never changes: it has a hash in the registry, or names a commit.

    Examples:
        >>> is_pinned("o200k_base"), is_pinned("hf:a/b@main"), is_pinned("hf:a/b@" + 40 * "0")
        (True, False, True)
    """
    return name in REGISTRY or re.fullmatch(rf"{HUB}.*@[0-9a-f]{{40}}", name) is not None


def nearest(name: str) -> list[str]:
    """Returns at most five suggestions of names to load instead of an unknown name.

    For ``owner/name``, only the repository of the hub is returned. Otherwise the order is: tokenizers of the model's
    family; the model of Ollama, with its prefix; names that begin with the given name. If there are none of these,
    similarly spelled names are returned.

    Examples:
        >>> nearest("gpt-4oo"), nearest("llama")
        (['gpt-4o', 'gpt-4'], ['llama3', 'llama3.1', 'llama4'])
        >>> nearest("Qwen/Qwen3-32B"), nearest("gemma-3"), nearest("gpt-oss")
        (['hf:Qwen/Qwen3-32B'], ['hf:google/gemma-3-4b-it'], ['o200k_harmony', 'hf:openai/gpt-oss-20b'])
    """
    if name.lower().endswith(_FILE_SUFFIXES):
        return []  # a path of a file that does not exist
    if _REPOSITORY.fullmatch(name):
        return [HUB + name]
    known: Iterable[str] = dict.fromkeys([DEFAULT, *REGISTRY, *_ALIASES])
    wanted = name.lower()
    begun = [other for other in known if wanted and other.lower().startswith(wanted)]
    pulled = [OLLAMA + name] if _OLLAMA_MODEL.fullmatch(name) else []
    if listed := dict.fromkeys([*_of_family(name), *pulled, *begun]):
        return [*listed][:5]
    spelled = {other.lower(): other for other in known}
    from difflib import get_close_matches  # imported here: only errors need it

    return [spelled[other] for other in get_close_matches(wanted, spelled, n=5, cutoff=0.75)]


def _of_family(name: str) -> tuple[str, ...]:
    """Returns the tokenizers of a model's family. If several families match, the one with the longest name is used."""
    model = _spelled(name)
    families = [family for family in _FAMILIES if model.startswith(family) and _is_of(family, model)]
    return _FAMILIES[max(families, key=len)] if families else ()


def _is_of(family: str, model: str) -> bool:
    """Tests whether a model belongs to a family: "qwen3-8b" belongs to "qwen3", but "qwen3.5" does not."""
    rest = model[len(family) :]
    return re.match(r"\.?\d" if family[-1].isdigit() else "[a-z]", rest) is None


def _spelled(name: str) -> str:
    """Returns a name in the spelling of family names: lower case, hyphens, but no hyphen between word and version.

    Examples:
        >>> _spelled("Gemma-3"), _spelled("meta_llama-3.1 8B"), _spelled("DeepSeekV3"), _spelled("Kimi-K2")
        ('gemma3', 'llama3.1-8b', 'deepseek-v3', 'kimi-k2')
    """
    words = re.sub(r"[\s_:/-]+", "-", name.lower()).removeprefix("meta-")
    words = re.sub(r"^(deepseek|kimi|minimax)-?(?=[vrkm]\d)", r"\1-", words)
    return re.sub(r"(?<=[a-z])-(?=\d)", "", words)
