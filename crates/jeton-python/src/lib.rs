//! Binding of `jeton-core` as the Python module `jeton._core`.
//!
//! Each function converts arguments, releases the GIL, calls the core, and converts the result. Python code handles
//! options and their combinations; the core has all loops over text.
//!
//! An operation on a tokenizer, counts or a vocabulary is a method of its class. Construction from data is a static
//! method or the constructor. All other operations are functions. Each file has a class or a topic. With PyO3's feature
//! `multiple-pymethods`, several files add methods to one class: `batches`, `cuts`, `surgery` and others to
//! `Tokenizer`, `presets` and `continue_training` to `Counts`, `formats` to the vocabularies.
//!
//! Utilities: `signals` (Ctrl-C and progress during long work: `parallel.rs` of the core polls the callback in the
//! calling thread; the other threads check a flag), `callback` (calls into Python that survive the exit of the
//! interpreter), `exclusive` (values that only one call at a time can change), `once` (Python objects made on first
//! use), `numpy_array` and `column` (integers for NumPy), `error` (core errors → exceptions).

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
mod formats;
mod growing;
mod id_list;
mod joined_rows;
mod mmap;
mod models;
mod numpy_array;
mod once;
mod packing;
mod parts;
mod patterns;
mod presets;
mod reading;
mod rows;
mod run;
mod sentencepiece;
mod signals;
mod stream;
mod surgery;
mod tokenizer;
mod vocabulary;
mod words;

// On a free-threaded interpreter, importing the module enables the GIL, because the tests of threads have not yet run
// on such an interpreter.
#[pymodule(gil_used = true)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::agreement::Agreement;
    #[pymodule_export]
    use crate::arguments::find_invalid_utf8;
    #[pymodule_export]
    use crate::audit::Reachability;
    #[pymodule_export]
    use crate::completions::covering_rows;
    #[pymodule_export]
    use crate::continue_training::rules_hold;
    #[pymodule_export]
    use crate::corpus::{count_line_ends, SpellingCounter, TextColumn};
    #[pymodule_export]
    use crate::counter::Counter;
    #[pymodule_export]
    use crate::counts::Counts;
    #[pymodule_export]
    use crate::cuts::unit_boundaries;
    #[pymodule_export]
    use crate::decoders::{apply_template, trim_offsets};
    #[pymodule_export]
    use crate::formats::{
        read_message, read_safetensors_header, sentencepiece_specs, with_sentencepiece_specs, write_message, TekkenFile,
    };
    #[pymodule_export]
    use crate::growing::GrowingText;
    #[pymodule_export]
    use crate::joined_rows::{join_ids, join_integers};
    #[pymodule_export]
    #[pymodule_export]
    use crate::mmap::Limit;
    #[pymodule_export]
    use crate::models::BareModel;
    #[pymodule_export]
    use crate::numpy_array::use_numpy;
    #[pymodule_export]
    use crate::packing::{best_fit, gather};
    #[pymodule_export]
    use crate::parts::{find_added, normalize_texts, pretokenize_text};
    #[pymodule_export]
    use crate::patterns::{oniguruma_pattern, pattern_names, pattern_text, read_bytes, spell_bytes, split_text};
    #[pymodule_export]
    use crate::presets::{character_map, character_rules};
    #[pymodule_export]
    use crate::rows::{constant_lists, id_lists, optional_list, row_lists, row_pair_lists};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::sentencepiece::{set_nbest_timeout, set_random_seed, PieceModel, PieceNormalizer, VectorBuffer};
    #[pymodule_export]
    use crate::stream::TextStream;
    #[pymodule_export]
    use crate::tokenizer::Tokenizer;
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
