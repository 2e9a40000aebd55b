//! Decoding ids in pushes, compared with decoding them at once.

use jeton_core::decode::{Decoder, InvalidUtf8};
use jeton_core::error::{Error, ErrorKind};
use jeton_core::vocab::Vocab;

/// Decodes `ids` in pushes of one to three, and the same from a prompt on.
///
/// # Errors
/// The difference, as a message.
pub fn check(decoder: &Decoder, vocab: &Vocab, ids: &[u32], skip_special: bool) -> Result<(), String> {
    let text = decoder.decode_text(vocab, ids, skip_special);
    let bytes = decoder.decode(vocab, ids, skip_special).map(|decoded| decoded.into_vec());
    let kept = bytes.map(|bytes| bytes.utf8_chunks().map(|chunk| chunk.valid()).collect::<String>());
    for (invalid, wanted) in [(InvalidUtf8::Replace, text), (InvalidUtf8::Ignore, kept)] {
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
                prompted.begin_text(Vec::new()).map_err(|error| error.to_string())?;
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
            (Err(error), _) if is_limit(error) => return Ok(()), // the text of the first ids may be over the limit alone
            (Err(error), Err(wanted)) if is_unknown(error) && is_unknown(wanted) => return Ok(()),
            _ => return Err(format!("a stream gives {streamed:?}, decoding at once {wanted:?}")),
        }
        let (Some((before, rest, mut stream)), Ok(wanted)) = (after_prompt, &wanted) else { continue };
        let pushed = decoder.push(vocab, &mut stream, rest).map(str::to_owned);
        let ended = decoder.finish(&mut stream).map(str::to_owned);
        if !matches!((&pushed, &ended), (Ok(pushed), Ok(ended)) if format!("{pushed}{ended}") == wanted[before..]) {
            return Err(format!("after a prompt, a stream gives {pushed:?} and {ended:?} of {wanted:?}"));
        }
    }
    Ok(())
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Config { .. })
}

fn is_unknown(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UnknownId { .. })
}
