# Public names for type checkers; `__init__.py` imports them on first use.
from . import analysis as analysis
from . import chat as chat
from . import compat as compat
from . import errors as errors
from . import formats as formats
from . import shards as shards
from . import training as training
from . import vocabulary as vocabulary
from ._core import (
    GrowingText as GrowingText,
    TextStream as TextStream,
)
from .tokens.added import AddedToken as AddedToken
from .analysis import (
    audit as audit,
    chat_check as chat_check,
    compare as compare,
    compare_corpus as compare_corpus,
    cost as cost,
    doctor as doctor,
    languages as languages,
    measure as measure,
    sizes as sizes,
)
from .calls.batch import PaddedBatch as PaddedBatch, TokenBatch as TokenBatch
from .chat.canonical import CanonicalIds as CanonicalIds
from .chat.drift import Drift as Drift
from .chat.count import ChatCount as ChatCount, chat_count as chat_count
from .chat.difference import ChatDifference as ChatDifference, chat_diff as chat_diff
from .corpus import (
    Corpus as Corpus,
    Source as Source,
)
from .calls.cutting import Chunk as Chunk
from .encoding import (
    Encoding as Encoding,
    Token as Token,
)
from .errors import (
    ConfigError as ConfigError,
    FormatError as FormatError,
    InvalidTextError as InvalidTextError,
    JetonError as JetonError,
    SpecialTokenError as SpecialTokenError,
    TrainingError as TrainingError,
    UnknownTokenError as UnknownTokenError,
    UnsupportedFeatureError as UnsupportedFeatureError,
)
from .explanation import Explanation as Explanation
from .formats import (
    default as default,
    load as load,
    names as names,
)
from .integrations.arrow import encode_arrow as encode_arrow
from .integrations.datasets import map_dataset as map_dataset
from .util.progress import ProgressEvent as ProgressEvent
from .tokenizer import Tokenizer as Tokenizer
from .training import (
    Counts as Counts,
    Limits as Limits,
    Rules as Rules,
    Superwords as Superwords,
    count_pretokens as count_pretokens,
    replay as replay,
    train as train,
)
from .vocabulary import (
    Surgery as Surgery,
    add_words as add_words,
    align as align,
    extend as extend,
    merge_vocab as merge_vocab,
    prune as prune,
    renumber as renumber,
)

__version__: str
