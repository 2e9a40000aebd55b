//! Texts that tokens matched. For unknown tokens of Unigram, and for added tokens that include white space, Hugging
//! Face shows this text instead of the token's entry.
//!
//! Invariant: the tokens are those of [`Tokenizer::encode_with_spans`], in the same order. Cost: the text is encoded
//! again, by `slow_path`.

use crate::error::Result;
use crate::model::{Out, Scratch};
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::cancel::KeepGoing;

impl Tokenizer {
    /// Calls `each` for every token of `text` whose id is in `shown`, with the token's bytes as the model sees them.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn token_texts(
        &self,
        text: &[u8],
        shown: &[u32],
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
        mut each: impl FnMut(&[u8]),
    ) -> Result<()> {
        let (mut ids, mut ends, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        self.for_each_segment(text, permit, false, keep_going, |segment| {
            ids.clear();
            ends.clear();
            let mut out = Out { special: permit.specials(), ..Out::with_ends(&mut ids, &mut ends) };
            self.encode_segment(&segment, keep_going, &mut scratch, &mut out)?;
            let mut start = 0;
            for (id, &end) in ids.iter().zip(&ends) {
                if shown.contains(id) {
                    each(&segment.bytes[start..end]);
                }
                start = end;
            }
            Ok(())
        })
    }
}
