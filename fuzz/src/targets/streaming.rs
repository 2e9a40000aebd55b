//! Decoding ids in pushes, compared with decoding them at once.

use jeton_core::decode::{Decoder, InvalidUtf8};
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::Vocab;

/// Decodes `ids` in pushes of one to three, and does the same from a prompt on.
///
/// # Errors
/// The difference, as a message.
pub fn check(decoder: &Decoder, vocab: &Vocab, ids: &[u32], skip_special: bool) -> std::result::Result<(), String> {
    for invalid in [InvalidUtf8::Replace, InvalidUtf8::Ignore] {
        let wanted = decoded(decoder, vocab, ids, skip_special, invalid);
        let (mut streamed, mut after_prompt) = (Ok(String::new()), None);
        let mut stream = decoder.stream(skip_special, invalid);
        let mut rest = ids;
        while let (Ok(text), Some(&first)) = (&mut streamed, rest.first()) {
            let (some, others) = rest.split_at(rest.len().min(1 + first as usize % 3));
            match decoder.push(vocab, &mut stream, some) {
                Ok(more) => text.push_str(more),
                Err(error) => streamed = Err(error),
            }
            rest = others;
            if after_prompt.is_none() && rest.len() <= ids.len() / 2 {
                let before = stream.text().len();
                let mut prompted = stream.clone();
                if let Err(error) = decoder.begin_text(&mut prompted, Vec::new()) {
                    return if is_limit(&error) { Ok(()) } else { Err(error.to_string()) };
                }
                after_prompt = Some((before, rest, prompted));
            }
        }
        if let Ok(text) = &mut streamed {
            match decoder.finish(&mut stream) {
                Ok(more) => text.push_str(more),
                Err(error) => streamed = Err(error),
            }
        }
        match (&streamed, &wanted) {
            (Ok(streamed), Ok(wanted)) if streamed == wanted => {}
            (Err(error), _) if is_limit(error) => return Ok(()), // the text of the first ids alone may be over the limit
            (Err(error), Err(wanted)) if is_unknown(error) && is_unknown(wanted) => return Ok(()),
            _ => return Err(format!("a stream gives {streamed:?}, decoding at once {wanted:?}")),
        }
        let (Some((before, rest, mut stream)), Ok(wanted)) = (after_prompt, &wanted) else { continue };
        let pushed = decoder.push(vocab, &mut stream, rest).map(str::to_owned);
        let ended = decoder.finish(&mut stream).map(str::to_owned);
        let (Ok(pushed), Ok(ended)) = (&pushed, &ended) else {
            return Err(format!("after a prompt, a stream gives {pushed:?} and {ended:?} of {wanted:?}"));
        };
        let prompt = &ids[..ids.len() - rest.len()];
        let text = format!("{pushed}{ended}");
        let start = wanted.len().checked_sub(text.len()).filter(|&start| wanted[start..] == text);
        let is_right = match decoded(decoder, vocab, prompt, skip_special, invalid) {
            // The text after the prompt includes an incomplete character at the end of the prompt.
            _ if ends_incomplete(decoder, vocab, prompt, skip_special) => start.is_some_and(|start| start >= before),
            Ok(alone) => start == Some(same_start(wanted, &alone)),
            Err(error) => is_limit(&error),
        };
        if !is_right {
            return Err(format!("after a prompt of {} ids, a stream gives {text:?} of {wanted:?}", prompt.len()));
        }
    }
    Ok(())
}

/// Decodes ids at once.
fn decoded(decoder: &Decoder, vocab: &Vocab, ids: &[u32], skip_special: bool, invalid: InvalidUtf8) -> Result<String> {
    if invalid == InvalidUtf8::Replace {
        return decoder.decode_text(vocab, ids, skip_special);
    }
    let bytes = decoder.decode(vocab, ids, skip_special)?.into_vec();
    Ok(bytes.utf8_chunks().map(|chunk| chunk.valid()).collect())
}

/// Returns true if the bytes of ids end inside a character.
fn ends_incomplete(decoder: &Decoder, vocab: &Vocab, ids: &[u32], skip_special: bool) -> bool {
    let last = decoder.decode(vocab, ids, skip_special).map(|decoded| {
        let bytes = decoded.into_vec();
        bytes.utf8_chunks().last().is_some_and(|chunk| !chunk.invalid().is_empty())
    });
    last.unwrap_or(true)
}

/// Returns the number of bytes of the common beginning of two texts, in whole characters.
fn same_start(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum()
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Config { .. })
}

fn is_unknown(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UnknownId { .. })
}
