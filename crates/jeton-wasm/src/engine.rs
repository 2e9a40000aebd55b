//! Engine of the page: stores the loaded tokenizers, and answers requests.

use jeton_core::error::Error;
use jeton_core::pretokenize;
use jeton_core::tokenizer::{Extras, Permission, Permit, Tokenizer};
use jeton_core::vocab::{byte_alphabet, Kind, List, Vocab};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bundle::{self, Bundle};
use crate::explanation::{self, hex};
use crate::failure::Failure;
use crate::files::{self, Format, Opened, Plan};
use crate::training;

/// Properties of a tokenizer that the core does not have.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Facts {
    /// Type of the model, named as in `Definition`.
    pub kind: String,
    /// True if entries are bytes and the page spells them in the byte alphabet.
    pub is_byte_level: bool,
    /// True if an initial symbol can cover text that differs from the symbol's own bytes. For example, unk covers any
    /// unknown character.
    pub by_chars: bool,
    /// End-of-word mark of the entries that have one.
    pub end_of_word: Option<String>,
    /// Other properties. Only the worker uses them; it receives them when it loads the tokenizer.
    #[serde(flatten)]
    pub others: serde_json::Map<String, serde_json::Value>,
}

struct Loaded {
    tok: Tokenizer,
    facts: Facts,
}

/// The loaded tokenizers, by number.
#[derive(Default)]
pub struct Engine {
    loaded: Vec<Option<Loaded>>,
    opened: Option<Opened>,
}

/// Reply to a request: JSON, and binary data.
pub struct Reply {
    /// A JSON object; `{"error", "kind"}` if the request failed.
    pub json: String,
    /// Binary columns, as the request specifies.
    pub data: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    /// Loads the bundle in the request's data. Reply: number of the tokenizer, facts, sizes, special tokens.
    Load,
    /// Opens the file in the request's data, for later requests `Spelled`, `Inside` and `Build`. Reply: facts about it.
    Open { format: Format },
    /// Returns the ids of the entries with these spellings in the opened file.
    Spelled { spellings: Vec<String> },
    /// Returns three facts about the opened file: the piece at index `piece`, whether an entry has the id `id`, and
    /// whether some entry contains `mark` before its end.
    Inside { piece: usize, id: u32, mark: String },
    /// Builds a tokenizer from the opened file. The reply is that of `Load`.
    Build { options: serde_json::Value, facts: Box<Facts>, plan: Box<Plan> },
    /// Returns the regex converted to Oniguruma's dialect (null if that is not possible), and the regexes of all named
    /// patterns.
    Oniguruma { regex: String },
    /// Removes a loaded tokenizer.
    Forget { tok: usize },
    /// Returns the names of all named patterns.
    Patterns,
    /// Returns the number of ids of the text in the request's data.
    Count { tok: usize, special: bool, template: bool },
    /// Returns the ids of the text in the request's data. The reply's data are the ids, as u32.
    Encode { tok: usize, special: bool, template: bool },
    /// Returns the ids and spans of the text in the request's data, and the bytes of each id.
    Tokenize { tok: usize, special: bool, template: bool },
    /// Returns all steps of encoding the text in the request's data.
    Explain { tok: usize, special: bool },
    /// Returns the properties of some entries.
    Entries { tok: usize, ids: Vec<u32> },
    /// Returns the steps that merge an entry's own bytes.
    Steps { tok: usize, id: u32 },
    /// Returns the list of all merges.
    Merges { tok: usize },
    /// Returns all entries: ids, kinds as the API names them, and lengths. The reply's data are the entries' bytes.
    Listing { tok: usize },
    /// Learns merges from the text in the request's data.
    Train(Box<training::Options>),
}

type Answer = Result<(String, Vec<u8>), Failure>;

impl Engine {
    /// Executes a request, and returns the reply.
    pub fn answer(&mut self, request: &[u8], data: &[u8]) -> Reply {
        let parsed = serde_json::from_slice(request).map_err(|error| Failure::from(Error::config(error.to_string())));
        match parsed.and_then(|request| self.run(request, data)) {
            Ok((json, data)) => Reply { json, data },
            Err(failure) => Reply { json: json_of(&failure), data: Vec::new() },
        }
    }

    fn run(&mut self, request: Request, data: &[u8]) -> Answer {
        let located = |error| Failure::of(error, data);
        let only = |json: String| Ok((json, Vec::new()));
        match request {
            Request::Load => {
                let Bundle { header, entries, extras } = bundle::read(data)?;
                only(self.load(header.options.get(), header.facts, &entries, extras)?)
            }
            Request::Open { format } => {
                let (opened, facts) = files::read(format, data)?;
                self.opened = Some(opened);
                only(facts.to_string())
            }
            Request::Spelled { spellings } => only(json_of(&self.opened()?.ids(&spellings))),
            Request::Inside { piece, id, mark } => {
                let opened = self.opened()?;
                only(json!({"piece": opened.piece(piece), "holds": opened.holds(id), "is_inside": opened.holds_inside(&mark)}).to_string())
            }
            Request::Build { options, facts, plan } => {
                self.opened()?;
                let (entries, extras) =
                    self.opened.take().map_or_else(|| Ok(Default::default()), |file| file.build(&plan))?;
                only(self.load(&options.to_string(), *facts, &entries, extras)?)
            }
            Request::Oniguruma { regex } => {
                let names: Vec<_> =
                    pretokenize::names().iter().map(|name| (name, pretokenize::oniguruma(name))).collect();
                only(json!({"regex": pretokenize::to_oniguruma(&regex).ok(), "names": names}).to_string())
            }
            Request::Forget { tok } => {
                if let Some(place) = self.loaded.get_mut(tok) {
                    *place = None;
                }
                only("{}".into())
            }
            Request::Patterns => only(json!({"patterns": pretokenize::names()}).to_string()),
            Request::Count { tok, special, template } => {
                let tok = &self.get(tok)?.tok;
                let count = tok.count(data, &permit(tok, special)?, 1, &mut || true).map_err(located)?;
                let added = if template { tok.template().num_added(false) } else { 0 };
                only(json!({"count": count + added}).to_string())
            }
            Request::Encode { tok, special, template } => {
                let tok = &self.get(tok)?.tok;
                let mut ids = tok.encode_long(data, &permit(tok, special)?, 1, &mut || true).map_err(located)?;
                if template {
                    ids = tok.template().apply(&ids, None, true, |id| id).tokens;
                }
                Ok((json!({"num": ids.len()}).to_string(), ids.iter().flat_map(|id| id.to_le_bytes()).collect()))
            }
            Request::Tokenize { tok, special, template } => {
                let tok = &self.get(tok)?.tok;
                let permit = permit(tok, special)?;
                let encoding = tok.encode_with_spans(data, &permit, &|| true).map_err(located)?;
                let framed = tok.frame_encodings(&[data], &[encoding], template);
                let mut distinct = framed.ids.clone();
                distinct.sort_unstable();
                distinct.dedup();
                let table: Vec<_> = distinct.into_iter().map(|id| (id, hex(&decoded(tok, id)))).collect();
                only(json_of(&json!({
                    "ids": framed.ids, "byte_spans": framed.byte_spans, "char_spans": framed.char_spans,
                    "is_template": framed.sequences.iter().map(Option::is_none).collect::<Vec<_>>(), "tokens": table,
                })))
            }
            Request::Explain { tok, special } => {
                let Loaded { tok, facts } = self.get(tok)?;
                let permit = permit(tok, special)?;
                only(json_of(&explanation::explain(tok, facts, data, &permit).map_err(located)?))
            }
            Request::Entries { tok, ids } => {
                let loaded = self.get(tok)?;
                only(json_of(&ids.into_iter().map(|id| loaded.entry(id)).collect::<Vec<_>>()))
            }
            Request::Steps { tok, id } => {
                let Loaded { tok, facts } = self.get(tok)?;
                only(json_of(&explanation::entry(tok, facts, id, spelling(tok, facts, id).len())?))
            }
            Request::Merges { tok } => {
                let tok = &self.get(tok)?.tok;
                let merges = tok.model().as_bpe().map_or(Ok(Vec::new()), |bpe| bpe.merges(tok.vocab(), &|| true))?;
                only(json_of(&merges))
            }
            Request::Listing { tok } => Ok(self.get(tok)?.listing()),
            Request::Train(options) => {
                let text =
                    std::str::from_utf8(data).map_err(|_| Failure::from(Error::config("the text is not UTF-8")))?;
                only(json_of(&training::train(text, &options)?))
            }
        }
    }

    fn opened(&self) -> Result<&Opened, Failure> {
        self.opened.as_ref().ok_or_else(|| Failure::from(Error::config("no file is open")))
    }

    fn load(&mut self, options: &str, own: Facts, entries: &List, extras: Extras) -> Result<String, Failure> {
        let tok = Tokenizer::from_json(options, Vocab::new(entries.iter())?, extras)?;
        tok.prepare_model(&mut || true)?;
        let text = |id: u32| String::from_utf8_lossy(tok.vocab().content(id)).into_owned();
        let special = tok.added().iter().copied().filter(|&id| tok.vocab().kind(id) == Kind::Special);
        let special: Vec<_> = special.map(|id| (id, text(id))).collect();
        let facts = json_of(&json!({
            "tok": self.loaded.len(), "facts": own, "vocab_size": tok.vocab().len(), "num_tokens": tok.vocab().num_tokens(),
            "special": special,
        }));
        self.loaded.push(Some(Loaded { tok, facts: own }));
        Ok(facts)
    }

    fn get(&self, tok: usize) -> Result<&Loaded, Failure> {
        let missing = || Failure::from(Error::config(format!("there is no tokenizer {tok}")));
        self.loaded.get(tok).and_then(Option::as_ref).ok_or_else(missing)
    }
}

/// Properties of an entry that the page shows.
#[derive(Serialize)]
struct Entry {
    id: u32,
    kind: u8,
    hex: String,     // bytes in decoded text, in hexadecimal
    spelled: String, // content with the end-of-word mark, in hexadecimal
    token: String,   // spelling in tokenizer.json
}

impl Loaded {
    fn entry(&self, id: u32) -> Option<Entry> {
        let kind = self.tok.vocab().kind(id);
        (kind != Kind::Hole).then(|| Entry {
            id,
            kind: kind as u8,
            hex: hex(&decoded(&self.tok, id)),
            spelled: hex(&spelling(&self.tok, &self.facts, id)),
            token: self.token(id),
        })
    }

    /// Returns the spelling of an id in `tokenizer.json`.
    fn token(&self, id: u32) -> String {
        let (kind, content) = (self.tok.vocab().kind(id), self.tok.vocab().content(id));
        let spelled = spelling(&self.tok, &self.facts, id);
        let mut token = String::new();
        let mut from = 0;
        if self.facts.is_byte_level && matches!(kind, Kind::Token | Kind::EndsWord) {
            byte_alphabet::spell(content, &mut token);
            from = content.len();
        }
        token.push_str(&String::from_utf8_lossy(&spelled[from..]));
        token
    }

    /// Returns all entries, for the search on the page. The bytes of a special token are its content; the bytes of any
    /// other entry are the result of decoding its id.
    fn listing(&self) -> (String, Vec<u8>) {
        const SPECIAL: u8 = 0;
        const BYTE: u8 = 1;
        const PART: u8 = 2;
        const ORDINARY: u8 = 3;
        let (mut ids, mut kinds, mut lengths, mut data) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (id, kind, content) in self.tok.vocab().iter() {
            let bytes = if kind == Kind::Special { content.to_vec() } else { decoded(&self.tok, id) };
            let is_byte = |token: &str| token.chars().count() == 6 && token.starts_with("<0x") && token.ends_with('>');
            kinds.push(if kind == Kind::Special {
                SPECIAL
            } else if bytes.len() == 1 && (self.facts.is_byte_level || is_byte(&self.token(id))) {
                BYTE
            } else if std::str::from_utf8(&bytes).is_err() {
                PART
            } else {
                ORDINARY
            });
            ids.push(id);
            lengths.push(bytes.len());
            data.extend(bytes);
        }
        (json_of(&json!({"ids": ids, "kinds": kinds, "lengths": lengths})), data)
    }
}

fn permit(tok: &Tokenizer, special: bool) -> Result<Permit<'_>, Failure> {
    Ok(tok.permit(if special { &Permission::All } else { &Permission::None })?)
}

/// Returns the bytes to which an id is decoded in the middle of a text.
fn decoded(tok: &Tokenizer, id: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    tok.decode_one(id, &mut bytes);
    bytes
}

/// Returns the content of an entry, followed by the end-of-word mark if the entry ends a word.
fn spelling(tok: &Tokenizer, facts: &Facts, id: u32) -> Vec<u8> {
    let mut spelled = tok.vocab().content(id).to_vec();
    if tok.vocab().kind(id) == Kind::EndsWord {
        spelled.extend_from_slice(facts.end_of_word.as_deref().unwrap_or_default().as_bytes());
    }
    spelled
}

fn json_of(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|error| json!({"error": error.to_string(), "kind": "InternalError"}).to_string())
}
