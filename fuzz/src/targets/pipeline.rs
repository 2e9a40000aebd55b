//! Encoding and decoding with random tokenizers.
//!
//! Properties: encode, batch, count, spans and explanation agree; special tokens require permission; byte spans are
//! ascending and, together with dropped ranges, cover the text; all ids can be decoded; time is linear.

use std::time::Duration;

use jeton_core::decode::Decoded;
use jeton_core::error::{ErrorKind, Result};
use jeton_core::model::{Sampler, Scratch};
use jeton_core::tokenizer::{Encoding, Permission, Tokenizer};
use jeton_core::vocab::Kind;
use serde_json::Value;

use super::{case, not_a_case, refused, streaming, wrong, Checked, Outcome, Target};
use crate::engine::{cpu_time, least, SLOWDOWN};
use crate::mutate::Shape;
use crate::rng::Rng;

pub const TARGETS: &[Target] = &[Target {
    name: "pipeline",
    shape: Shape::Json,
    words: &[
        "a",
        "ab",
        "\u{2581}",
        "##a",
        "token",
        "special",
        "added",
        "BPE",
        "Unigram",
        "NFKC",
        "Metaspace",
        "ByteLevel",
        "Fuse",
        "f32",
        "\u{2581}a",
        "a a",
    ],
    seeds: Vec::new,
    generate: Some(|rng: &mut Rng| case::make(rng).to_string().into_bytes()),
    run,
}];

/// Maximum time for encoding a text of less than a megabyte.
const MOST_TIME: Duration = Duration::from_secs(2 * SLOWDOWN as u64);

type Check = std::result::Result<(), String>;

fn run(input: &[u8]) -> Checked {
    let case: Value = serde_json::from_slice(input).map_err(not_a_case)?;
    let tok = case::tokenizer(&case).ok_or(()).map_err(not_a_case)?.map_err(refused)?;
    let texts = case::texts(&case);
    let mut first_refusal = None;
    for permission in [Permission::None, Permission::All, Permission::Raise, Permission::Only(tok.added().to_vec())] {
        for text in &texts {
            if text.len() > 20_000 && permission != Permission::None {
                continue;
            }
            match one_text(&tok, text, &permission, &case) {
                Err(Outcome::Refused(message)) => first_refusal = first_refusal.or(Some(message)),
                other => other?,
            }
        }
        batch(&tok, &texts, &permission)?;
    }
    decoding(&tok, &case::ids(&case))?;
    match first_refusal {
        Some(message) => Err(Outcome::Refused(message)),
        None => Ok(case["options"]["model"]["type"].as_str().unwrap_or_default().to_owned()),
    }
}

fn encode(tok: &Tokenizer, text: &[u8], permission: &Permission) -> Result<Vec<u32>> {
    let permit = tok.permit(permission)?;
    let mut ids = Vec::new();
    tok.encode(text, &permit, &|| true, &mut Scratch::default(), &mut ids)?;
    Ok(ids)
}

/// Checks all properties of one text.
fn one_text(tok: &Tokenizer, text: &[u8], permission: &Permission, case: &Value) -> std::result::Result<(), Outcome> {
    let permit = tok.permit(permission).map_err(|error| error.to_string())?;
    let began = cpu_time();
    let encoded = encode(tok, text, permission);
    if cpu_time().saturating_sub(began) > MOST_TIME
        && text.len() < 1 << 20
        && least(|| drop(encode(tok, text, permission))) > MOST_TIME
    {
        return wrong(format!("slow: over {MOST_TIME:?} for a text"));
    }
    let began = cpu_time();
    let spans = tok.encode_with_spans(text, &permit, &|| true);
    if cpu_time().saturating_sub(began) > 2 * MOST_TIME
        && text.len() < 1 << 20
        && least(|| drop(tok.encode_with_spans(text, &permit, &|| true))) > 2 * MOST_TIME
    {
        return wrong("slow: spans");
    }
    let count = tok.count(text, &permit, 2, &mut || true);
    drop(tok.prepare(usize::MAX, &mut || true)); // from here on, tables exist
    let long = tok.encode_long(text, &permit, 2, &mut || true);
    let ids = match encoded {
        Err(error) => {
            for (what, ok) in [("spans", spans.is_ok()), ("count", count.is_ok()), ("long", long.is_ok())] {
                if ok {
                    return wrong(format!("encode refuses what {what} takes: {error}"));
                }
            }
            if let ErrorKind::Text { at, .. } | ErrorKind::Special { at, .. } = error.kind() {
                if *at > text.len() {
                    return wrong(format!("an error at byte {at} of {}: {error}", text.len()));
                }
            }
            return Err(refused(error));
        }
        Ok(ids) => ids,
    };
    let [spans, count, long] =
        [spans.map(Ok), count.map(Err), long.map(|ids| Ok(Encoding { ids, ..Encoding::default() }))]
            .map(|result| result.map_err(|error| format!("encode takes it, another way does not: {error}")));
    let (spans, count, long) = (spans?, count?, long?);
    if count.as_ref().err() != Some(&ids.len()) {
        return wrong(format!("count is {:?}, encode gives {}", count.err(), ids.len()));
    }
    if long.map(|long| long.ids) != Ok(ids.clone()) {
        return wrong("encode_long gives other ids than encode");
    }
    let Ok(spans) = spans else { return wrong("no spans") };
    if spans.ids != ids {
        return wrong("with spans there are other ids");
    }
    tiles(&spans, text)?;
    permitted(tok, &ids, permission, case)?;
    if text.len() < 5000 {
        let explained = tok
            .explain(text, &permit, usize::MAX, &|| true)
            .map_err(|error| format!("explain refuses what encode takes: {error}"))?;
        if explained.parts.iter().flat_map(|part| &part.ids).ne(&ids) {
            return wrong("explain gives other ids");
        }
        if text.len() < 300 {
            sampling(tok, text, permission)?; // if scores are equal, n best takes up to a millisecond for each character
        }
        framing(tok, text, &spans)?;
    }
    let decoded = tok.decode(&ids, false);
    let bytes = decoded.map_err(|error| format!("what was encoded cannot be decoded: {error}"))?.into_vec();
    tok.decode_text(&ids, true).map_err(|error| format!("what was encoded cannot be decoded: {error}"))?;
    if is_lossless(tok, case) && bytes != text {
        return wrong("a byte-level tokenizer that drops nothing does not give the text back");
    }
    Ok(())
}

/// Returns true if decoding must restore the text: byte level, one lossless pattern, no unknown token, and no decoder
/// that rewrites.
fn is_lossless(tok: &Tokenizer, case: &Value) -> bool {
    let options = &case["options"];
    let empty = |name: &str| options[name].as_array().is_some_and(Vec::is_empty);
    let keeps = match options["pretokenizer"].as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only["type"] == "Pattern" && only["name"] != "whitespace",
        _ => false,
    };
    let strips = tok.all_flags().iter().any(|&(_, flags)| flags & 11 != 0);
    let ends = tok.vocab().iter().any(|(_, kind, _)| kind == Kind::EndsWord);
    let is_bytes = options["model"]["type"] == "BPE" && options["model"]["level"] == "byte" && case["bytes"] == true;
    is_bytes && empty("normalizer") && keeps && options["decoder"].is_null() && !ends && !strips
}

/// Checks that byte spans and dropped ranges cover the text, in order.
fn tiles(encoding: &Encoding, text: &[u8]) -> Check {
    let columns = [encoding.byte_spans.len(), encoding.char_spans.len(), encoding.offsets.len()];
    if columns != [encoding.ids.len(); 3] {
        return Err(format!("columns of different lengths: {columns:?}, {} ids", encoding.ids.len()));
    }
    let mut dropped = encoding.dropped.iter().peekable();
    let mut at = 0;
    for &(start, end) in &encoding.byte_spans {
        while let Some(&&(_, to)) = dropped.peek().filter(|&&&(from, to)| from == at && from < to && to <= start) {
            at = to;
            dropped.next();
        }
        if start != at || end < start {
            return Err(format!(
                "the span ({start}, {end}) after byte {at}; dropped: {:?}",
                &encoding.dropped[..encoding.dropped.len().min(9)]
            ));
        }
        at = end;
    }
    for &(from, to) in dropped {
        if from != at || to <= from {
            return Err(format!("dropped ({from}, {to}) after byte {at}"));
        }
        at = to;
    }
    if at != text.len() {
        return Err(format!("spans end at {at} of {}", text.len()));
    }
    let chars = text
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum::<usize>();
    for spans in [&encoding.char_spans, &encoding.offsets] {
        if let Some(span) = spans.iter().find(|span| span.0 > span.1 || span.1 > chars) {
            return Err(format!("the characters {span:?} of {chars}"));
        }
    }
    let mut last = 0;
    for &(start, end, first) in &encoding.pretokens {
        if start > end || end > text.len() || first < last || first > encoding.ids.len() {
            return Err(format!("the pretoken ({start}, {end}, {first})"));
        }
        last = first;
    }
    Ok(())
}

/// Checks that each special token is permitted or is the unknown token.
fn permitted(tok: &Tokenizer, ids: &[u32], permission: &Permission, case: &Value) -> Check {
    if !matches!(permission, Permission::None | Permission::Raise) {
        return Ok(());
    }
    let unk = case["options"]["model"]["unk"].as_u64();
    let is_special = |id: u32| tok.vocab().kind(id) == Kind::Special && Some(u64::from(id)) != unk;
    match ids.iter().find(|&&id| is_special(id) || tok.vocab().kind(id) == Kind::Hole) {
        Some(id) => Err(format!("the id {id} without permission")),
        None => Ok(()),
    }
}

fn sampling(tok: &Tokenizer, text: &[u8], permission: &Permission) -> Check {
    let permit = tok.permit(permission).map_err(|error| error.to_string())?;
    for (dropout, alpha, nbest) in [(0.0, 0.0, None), (0.5, 0.1, None), (1.0, 1.0, Some(3)), (0.1, -3.0, Some(1))] {
        let mut sampler = Sampler::new(text.len() as u64);
        (sampler.dropout, sampler.alpha, sampler.nbest) = (dropout, alpha, nbest);
        let sampled = tok.sample(text, &permit, &mut sampler, &|| true);
        if let Some(message) = sampled.err().and_then(internal) {
            return Err(message);
        }
    }
    if let Ok(best) = tok.nbest(text, &permit, 4, &|| true) {
        let ids = encode(tok, text, permission).map_err(|error| error.to_string())?;
        let unlike = best.first().is_some_and(|best| best.0 != ids);
        let disordered = best.windows(2).any(|pair| pair[0].1 < pair[1].1);
        if best.len() > 4 || disordered {
            return Err(format!("n best: {best:?}"));
        }
        let _ = unlike; // not an error: equal scores and rounding to f32 may change the order
    }
    Ok(())
}

fn internal(error: jeton_core::error::Error) -> Option<String> {
    matches!(error.kind(), ErrorKind::Internal(_)).then(|| error.to_string())
}

fn framing(tok: &Tokenizer, text: &[u8], encoding: &Encoding) -> Check {
    for encodings in [&[encoding.clone()][..], &[encoding.clone(), encoding.clone()]] {
        for add in [false, true] {
            let framed = tok.frame_encodings(&vec![text; encodings.len()], encodings, add);
            let columns = [
                framed.byte_spans.len(),
                framed.char_spans.len(),
                framed.offsets.len(),
                framed.type_ids.len(),
                framed.special_tokens_mask.len(),
                framed.sequences.len(),
            ];
            if columns != [framed.ids.len(); 6] {
                return Err(format!("columns of different lengths: {columns:?}, {} ids", framed.ids.len()));
            }
            if framed.offsets.iter().any(|span| span.0 > span.1) {
                return Err("offsets that end before they start".into());
            }
        }
    }
    let offsets = [0, (encoding.ids.len() / 2) as i64, encoding.ids.len() as i64];
    let (ids, starts) = tok.framed(&encoding.ids, &offsets);
    if starts.last() != Some(&(ids.len() as i64)) || starts.len() != 3 {
        return Err("framed batches end elsewhere".into());
    }
    Ok(())
}

fn batch(tok: &Tokenizer, texts: &[Vec<u8>], permission: &Permission) -> Check {
    let permit = tok.permit(permission).map_err(|error| error.to_string())?;
    let borrowed: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let each: Vec<Result<Vec<u32>>> = texts.iter().map(|text| encode(tok, text, permission)).collect();
    match tok.encode_batch(&borrowed, &permit, 2, &mut || true) {
        Ok((ids, offsets)) => {
            let parts = offsets.windows(2).map(|pair| ids.get(pair[0] as usize..pair[1] as usize));
            let same = parts.zip(&each).all(|(part, alone)| alone.as_ref().is_ok_and(|alone| part == Some(alone)));
            if !same || offsets.len() != texts.len() + 1 {
                return Err("encode_batch gives other ids than encode".into());
            }
        }
        Err((index, error)) => {
            let first = each.iter().position(std::result::Result::is_err);
            if first != Some(index) {
                return Err(format!("encode_batch fails at text {index}, encode at {first:?}: {error}"));
            }
        }
    }
    Ok(())
}

fn decoding(tok: &Tokenizer, ids: &[u32]) -> Check {
    for skip in [false, true] {
        let decoded = tok.decode(ids, skip).map(Decoded::into_vec);
        let text = tok.decode_text(ids, skip);
        if decoded.is_ok() != text.is_ok() {
            return Err("decode and decode_text do not agree on what can be decoded".into());
        }
        for error in decoded.err().into_iter().chain(text.err()) {
            if !matches!(error.kind(), ErrorKind::UnknownId { .. }) {
                return Err(format!("decoding: {error}"));
            }
        }
    }
    for skip in [false, true] {
        streaming::check(tok.decoder(), tok.vocab(), ids, skip)?;
    }
    for &id in ids {
        tok.decode_one(id, &mut Vec::new());
    }
    Ok(())
}
