//! Applies a list of Hugging Face's decoders, one after the other, to strings that arrive in fragments.

use super::super::chain::Chain;
use super::super::pieces::StringList;
use super::stage::Stage;
use crate::error::Result;
use crate::util::cancel::most_bytes;
use crate::vocab::{Kind, Vocab};

/// State of a [`Chain`] in a stream.
#[derive(Debug, Clone)]
pub(super) struct ChainState {
    stages: Vec<Stage>,
    written: Vec<usize>, // bytes that each stage has written
    read: usize,         // number of bytes and strings that the first stage has read
    lists: [StringList; 2],
}

impl ChainState {
    pub fn new(chain: &Chain) -> Self {
        let next = chain.steps.iter().skip(1).map(Some).chain([None]);
        let stages: Vec<Stage> = chain.steps.iter().zip(next).map(|(step, next)| Stage::new(step, next)).collect();
        Self { written: vec![0; stages.len()], stages, read: 0, lists: Default::default() }
    }

    /// Calls [`Stage::write_early`] for all stages; returns true if any stage supports it.
    pub fn write_early(&mut self) -> bool {
        let mut any = false;
        for stage in &mut self.stages {
            any |= stage.write_early(); // no short circuit: called for all stages
        }
        any
    }

    /// Returns true if a stage has written a run of byte pieces early (see [`Stage::write_early`]), but the run was not
    /// UTF-8.
    pub fn is_wrong(&self) -> bool {
        self.stages.iter().any(Stage::is_wrong)
    }

    /// Decodes entries and appends the bytes that are final to `out`.
    ///
    /// # Errors
    /// The errors of [`Chain::run`] for all ids so far.
    pub fn push(
        &mut self,
        chain: &Chain,
        vocab: &Vocab,
        entries: impl Iterator<Item = (u32, Kind)>,
        lossy: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let list = &mut self.lists[0];
        list.clear();
        entries.for_each(|(id, kind)| chain.push_entry(vocab, id, kind, list));
        self.read += list.open().len() + list.len();
        self.run(chain, false, lossy, out)
    }

    /// Ends the list of strings. Any bytes held back so far are now decoded and appended to `out`.
    ///
    /// # Errors
    /// As [`ChainState::push`].
    pub fn finish(&mut self, chain: &Chain, lossy: bool, out: &mut Vec<u8>) -> Result<()> {
        self.lists[0].clear();
        self.run(chain, true, lossy, out)
    }

    /// Decodes an entry like [`ChainState::push`], but without building lists. This is possible if there is a single
    /// context-free step and the entry's string is stored. Otherwise returns false and changes nothing.
    ///
    /// # Errors
    /// As [`ChainState::push`].
    pub fn push_stored(
        &mut self,
        chain: &Chain,
        vocab: &Vocab,
        (id, kind): (u32, Kind),
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let ([step], [stage], [written]) = (&chain.steps[..], &mut self.stages[..], &mut self.written[..]) else {
            return Ok(false);
        };
        let Some(string) = chain.stored(vocab, id, kind).filter(|_| step.is_context_free()) else { return Ok(false) };
        self.read += string.len() + 1;
        let (most, start) = (most_bytes(self.read), out.len());
        let left = most.saturating_sub(*written);
        stage.push_closed(step, string, out, start + left)?;
        *written += out.len() - start;
        if out.len() - start > left {
            return Err(Chain::too_long(most));
        }
        Ok(true)
    }

    fn run(&mut self, chain: &Chain, ends: bool, lossy: bool, out: &mut Vec<u8>) -> Result<()> {
        let [from, into] = &mut self.lists;
        let most = most_bytes(self.read);
        for ((stage, written), step) in self.stages.iter_mut().zip(&mut self.written).zip(&chain.steps) {
            into.clear();
            let left = most.saturating_sub(*written);
            stage.push(step, from, into, lossy, left)?;
            if ends {
                stage.finish(step, into, lossy, left);
            }
            if into.open().len() > left {
                return Err(Chain::too_long(most));
            }
            *written += into.open().len();
            std::mem::swap(from, into);
        }
        out.append(from.open());
        Ok(())
    }
}
