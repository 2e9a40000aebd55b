//! Search for stop strings in text that arrives in fragments (Aho–Corasick).
//!
//! The search finds the match that starts first, and the shortest one of several matches with the same start. Text that
//! may be the beginning of a stop string is held back. A match is reported as soon as no match with an earlier start is
//! possible.
//!
//! Invariant: the text before the match, and the match itself, do not depend on the fragments. Cost: amortized constant
//! time for each byte; the stored text is at most twice the longest stop string. Source: Aho and Corasick 1975,
//! Efficient string matching. The crate `aho-corasick` is not used, because its states do not tell how much text they
//! have matched.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{Error, Result};

/// Maximum total bytes of all stop strings.
const MOST_BYTES: usize = 1 << 20;

const ROOT: usize = 0;

#[derive(Debug, Default)]
struct Node {
    edges: Vec<(u8, u32)>, // byte -> node, by ascending byte
    fail: usize,           // node of the longest proper suffix that is in the trie
    depth: usize,          // number of bytes from the root to this node
    stop: Option<usize>,   // index of the longest stop string that ends at this node
}

impl Node {
    fn child(&self, byte: u8) -> Option<usize> {
        let at = self.edges.binary_search_by_key(&byte, |edge| edge.0).ok()?;
        Some(self.edges[at].1 as usize)
    }
}

/// Aho–Corasick automaton of the stop strings.
#[derive(Debug)]
struct Automaton {
    nodes: Vec<Node>,
    stops: Vec<String>,
}

impl Automaton {
    fn new(stops: Vec<String>) -> Self {
        let mut nodes = vec![Node::default()];
        for (index, stop) in stops.iter().enumerate() {
            let mut node = ROOT;
            for (i, &byte) in stop.as_bytes().iter().enumerate() {
                node = match nodes[node].edges.binary_search_by_key(&byte, |edge| edge.0) {
                    Ok(at) => nodes[node].edges[at].1 as usize,
                    Err(at) => {
                        let made = nodes.len();
                        nodes[node].edges.insert(at, (byte, made as u32));
                        nodes.push(Node { depth: i + 1, ..Node::default() });
                        made
                    }
                };
            }
            nodes[node].stop.get_or_insert(index);
        }
        let mut automaton = Self { nodes, stops };
        automaton.link();
        automaton
    }

    /// Sets the failure links of all nodes, in ascending order of depth.
    fn link(&mut self) {
        let mut queue: VecDeque<usize> = self.nodes[ROOT].edges.iter().map(|edge| edge.1 as usize).collect();
        while let Some(node) = queue.pop_front() {
            for i in 0..self.nodes[node].edges.len() {
                let (byte, child) = self.nodes[node].edges[i];
                let fail = self.next(self.nodes[node].fail, byte);
                let inherited = self.nodes[fail].stop;
                let child = child as usize;
                self.nodes[child].fail = fail;
                self.nodes[child].stop = self.nodes[child].stop.or(inherited);
                queue.push_back(child);
            }
        }
    }

    fn next(&self, mut node: usize, byte: u8) -> usize {
        loop {
            match self.nodes[node].child(byte) {
                Some(child) => return child,
                None if node == ROOT => return ROOT,
                None => node = self.nodes[node].fail,
            }
        }
    }
}

/// Matcher of stop strings, with its state in the text.
#[derive(Debug, Clone)]
pub(super) struct StopMatcher {
    automaton: Arc<Automaton>,
    node: usize,
    held: String, // `returned` bytes that are final, then text that is not
    returned: usize,
    candidate: Option<(usize, usize)>, // (start in `held`, index of the stop string); an earlier match is possible
    stopped: Option<usize>,
}

impl StopMatcher {
    /// # Errors
    /// `Config` for an empty stop string, or more than [`MOST_BYTES`] of stop strings.
    pub fn new(stops: Vec<String>) -> Result<Self> {
        if let Some(at) = stops.iter().position(String::is_empty) {
            return Err(Error::config(format!("stop[{at}] is empty; it would stop every text at its start")));
        }
        if stops.iter().map(String::len).sum::<usize>() > MOST_BYTES {
            return Err(Error::config(format!("the stop strings have more than {MOST_BYTES} bytes")));
        }
        let automaton = Arc::new(Automaton::new(stops));
        Ok(Self { automaton, node: ROOT, held: String::new(), returned: 0, candidate: None, stopped: None })
    }

    /// Returns the stop string that was found, if any.
    pub fn stopped(&self) -> Option<&str> {
        Some(&self.automaton.stops[self.stopped?])
    }

    /// Reads the next fragment of the text. Appends to `out` all text that certainly precedes the first match. Drops
    /// the match and the text after it.
    pub fn push(&mut self, text: &str, out: &mut String) {
        if self.stopped.is_some() {
            return;
        }
        let mut read = self.held.len();
        self.held.push_str(text);
        let mut depth = self.automaton.nodes[self.node].depth;
        while let Some(&byte) = self.held.as_bytes().get(read) {
            read += 1;
            self.node = self.automaton.next(self.node, byte);
            let node = &self.automaton.nodes[self.node];
            depth = node.depth;
            if let Some(stop) = node.stop {
                let start = read - self.automaton.stops[stop].len();
                if self.candidate.is_none_or(|(before, _)| start < before) {
                    self.candidate = Some((start, stop));
                }
            }
            if self.candidate.is_some_and(|(start, _)| start <= read - depth) {
                return self.stop(out);
            }
        }
        let end = read - depth; // the rest may be the beginning of a stop string
        out.push_str(&self.held[self.returned..end]);
        self.returned = end;
        // The returned text is dropped only when it is at least half of the stored text. Dropping it moves the rest, in
        // time linear in its length, so doing this at each call would be slow.
        if 2 * end >= read {
            self.held.drain(..end);
            self.returned = 0;
            self.candidate = self.candidate.map(|(start, stop)| (start - end, stop));
        }
    }

    /// Ends the text: appends the text that was held back, up to a match if there is one.
    pub fn finish(&mut self, out: &mut String) {
        if self.candidate.is_some() {
            return self.stop(out);
        }
        out.push_str(&std::mem::take(&mut self.held)[self.returned..]);
        self.returned = 0;
    }

    fn stop(&mut self, out: &mut String) {
        if let Some((start, stop)) = self.candidate.take() {
            out.push_str(&self.held[self.returned..start]);
            (self.held, self.returned) = (String::new(), 0);
            self.stopped = Some(stop);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    fn wanted(text: &str, stops: &[&str]) -> (String, Option<String>) {
        let found = stops.iter().filter_map(|stop| Some((text.find(stop)?, stop.len(), *stop)));
        match found.min() {
            Some((start, _, stop)) => (text[..start].to_owned(), Some(stop.to_owned())),
            None => (text.to_owned(), None),
        }
    }

    #[test]
    fn match_that_starts_first_ends_the_text() {
        let all = ["a", "b", "ab", "bc", "abcd", "xaab", "aab", "bcé", "éé", "aaaa", "ba"];
        let mut seed = 7u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize % below
        };
        for _ in 0..20_000 {
            let stops: Vec<&str> = (0..1 + random(4)).map(|_| all[random(all.len())]).collect();
            let text: String = (0..random(14)).map(|_| ["a", "b", "c", "d", "x", "é"][random(6)]).collect();
            let mut matcher = StopMatcher::new(stops.iter().map(|&stop| stop.to_owned()).collect()).unwrap();
            let (mut out, mut rest) = (String::new(), &text[..]);
            while !rest.is_empty() {
                let mut end = 1 + random(rest.len());
                while !rest.is_char_boundary(end) {
                    end += 1;
                }
                matcher.push(&rest[..end], &mut out);
                rest = &rest[end..];
            }
            matcher.finish(&mut out);
            let stopped = matcher.stopped().map(str::to_owned);
            assert_eq!((out, stopped), wanted(&text, &stops), "{text} until {stops:?}");
        }
    }

    #[test]
    fn text_is_held_back_only_while_it_may_change() {
        let mut matcher = StopMatcher::new(vec!["User:".into(), "\n\n".into()]).unwrap();
        let mut out = String::new();
        for (text, wanted) in [("Us", ""), ("e", ""), ("d U", "Used "), ("s", "Used "), ("\n", "Used Us")] {
            matcher.push(text, &mut out);
            assert_eq!(out, wanted);
        }
        matcher.push("\nmore", &mut out);
        assert_eq!((out.as_str(), matcher.stopped()), ("Used Us", Some("\n\n")));
        assert!(StopMatcher::new(vec!["a".into(), String::new()]).is_err());
    }

    #[test]
    fn a_long_stop_string_takes_linear_time() {
        let stop = "a".repeat(300_000) + "b";
        let mut matcher = StopMatcher::new(vec![stop]).unwrap();
        let mut out = String::new();
        for _ in 0..900_000 {
            matcher.push("a", &mut out);
        }
        assert_eq!(out.len(), 600_000);
        matcher.push("b", &mut out);
        assert!(out.len() == 600_000 && matcher.stopped().is_some());
    }
}
