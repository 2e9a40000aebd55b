//! A seeded generator: SplitMix64 (Steele, Lea, Flood 2014), small and good enough for choosing mutations.

/// Pseudorandom numbers from a seed.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 where `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            return 0;
        }
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number from `start` to `end`, both included.
    pub fn between(&mut self, start: usize, end: usize) -> usize {
        start + self.below(end + 1 - start)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `items`, which are not empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Chooses a value that is not copied.
    pub fn any<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A small length, mostly: half of them 0 or 1, rarely up to `most`.
    pub fn length(&mut self, most: usize) -> usize {
        let shift = self.below(usize::BITS as usize - most.leading_zeros() as usize + 1);
        self.below((1 << shift) + 1).min(most)
    }
}
