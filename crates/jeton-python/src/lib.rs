//! The binding: `jeton-core` as the Python module `jeton._core`.
//!
//! Each function converts arguments, releases the GIL, calls the core, and converts the result. Python decides about options and
//! their combinations; the core has all loops over text.

// pyo3's macros expand to code that Clippy's `expect_used` and the like would report.
#![allow(missing_docs)]

use pyo3::prelude::*;

mod agreement;
mod arguments;
mod audit;
mod batches;
mod callback;
mod chat;
mod column;
mod completions;
mod continue_training;
mod corpus;
mod counter;
mod counts;
mod cuts;
mod decoders;
mod error;
mod exclusive;
mod explained;
mod files;
mod formats;
mod growing;
mod id_list;
mod joined_rows;
mod json;
mod mmap;
mod models;
mod numpy_array;
mod once;
mod packing;
mod parts;
mod presets;
mod reading;
mod rows;
mod run;
mod sentencepiece;
mod signals;
mod stream;
mod surgery;
mod tokenizer;
mod unigram;
mod vocabulary;
mod words;

// Until the tests of threads have passed on a free-threaded interpreter, importing the module enables the lock there.
#[pymodule(gil_used = true)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::agreement::{shared_entries, Agreement};
    #[pymodule_export]
    use crate::arguments::find_invalid_utf8;
    #[pymodule_export]
    use crate::audit::{duplicate_entries, entry_shapes, Reachability};
    #[pymodule_export]
    use crate::batches::{
        decode_lists, decode_rows, decode_tokens, decode_with_starts, encode_batch_with_offsets,
        encode_batch_with_words, known_spans, known_spans_array,
    };
    #[pymodule_export]
    use crate::chat::{chat_spans, encode_chat};
    #[pymodule_export]
    use crate::completions::covering_rows;
    #[pymodule_export]
    use crate::continue_training::{learn_more, rules_hold};
    #[pymodule_export]
    use crate::corpus::{count_line_ends, encode_columns, SpellingCounter, TextColumn};
    #[pymodule_export]
    use crate::counter::{merge_runs, Counter};
    #[pymodule_export]
    use crate::counts::Counts;
    #[pymodule_export]
    use crate::cuts::{count_batch, count_up_to, split, truncate, unit_boundaries};
    #[pymodule_export]
    use crate::decoders::{apply_template, decode_parts, trim_offsets};
    #[pymodule_export]
    use crate::files::{oniguruma_pattern, pattern_names, read_bytes, read_tokenizer_json, spell_bytes, split_text};
    #[pymodule_export]
    use crate::formats::{
        merges_txt, pattern_text, rank_file_differs, read_message, read_pair, read_safetensors_header,
        read_sentencepiece, read_tekken, read_vocab_txt, sentencepiece_specs, tekken_vocab, vocab_txt,
        with_sentencepiece_specs, write_message, write_sentencepiece, TekkenFile,
    };
    #[pymodule_export]
    use crate::growing::{growing_text, GrowingText};
    #[pymodule_export]
    use crate::joined_rows::{join_ids, join_integers};
    #[pymodule_export]
    use crate::json::{read_json, write_json};
    #[pymodule_export]
    use crate::mmap::Limit;
    #[pymodule_export]
    use crate::models::BareModel;
    #[pymodule_export]
    use crate::numpy_array::use_numpy;
    #[pymodule_export]
    use crate::packing::{best_fit, gather};
    #[pymodule_export]
    use crate::parts::{find_added, normalize_text, normalize_texts, pretokenize_text};
    #[pymodule_export]
    use crate::presets::{
        alphabet_size, character_map, character_rules, learn_hf, learn_sentencepiece, learn_sentencepiece_words,
    };
    #[pymodule_export]
    use crate::rows::{constant_lists, id_lists, optional_list, row_lists, row_pair_lists};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::sentencepiece::{set_nbest_timeout, set_random_seed, PieceModel, PieceNormalizer, VectorBuffer};
    #[pymodule_export]
    use crate::stream::{text_stream, TextStream};
    #[pymodule_export]
    use crate::surgery::{append_entries, append_vocabulary, count_ids, merge_trees, vocabulary_map, without_rare};
    #[pymodule_export]
    use crate::tokenizer::Tokenizer;
    #[pymodule_export]
    use crate::unigram::learn_unigram;
    #[pymodule_export]
    use crate::vocabulary::{sorted_bytes, SpelledVocabulary, Vocabulary};
    #[pymodule_export]
    use crate::words::{main_script, Words};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::find_classes(module.py());
        Ok(())
    }
}
