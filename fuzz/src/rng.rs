//! Seeded pseudorandom generator: SplitMix64 (Steele, Lea, Flood 2014).

/// Pseudorandom numbers from a seed.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Creates the generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a random number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            return 0;
        }
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Returns a random number from `start` to `end`, inclusive.
    pub fn between(&mut self, start: usize, end: usize) -> usize {
        start + self.below(end + 1 - start)
    }

    /// Returns true with probability 1/`n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns a random element of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns a reference to a random element of `items`.
    pub fn any<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns a random length, mostly small: in half of all cases 0 or 1, rarely up to `most`.
    pub fn length(&mut self, most: usize) -> usize {
        let shift = self.below(usize::BITS as usize - most.leading_zeros() as usize + 1);
        self.below((1 << shift) + 1).min(most)
    }
}
