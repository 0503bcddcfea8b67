//! Named random streams: a draw added in one place shifts no other.

use rand_pcg::Pcg64;

/// The generator every random draw of the project comes from.
pub type Stream = Pcg64;

/// The stream for one purpose, e.g. `stream(seed, "daggen/edges", graph_index)`.
pub fn stream(seed: u64, purpose: &str, index: u64) -> Stream {
    let mut state = mix(seed ^ 0x51ac_c1e5_0000_0001);
    for &byte in purpose.as_bytes() {
        state = mix(state ^ u64::from(byte));
    }
    state = mix(state ^ index);
    let word = |k: u64| u128::from(mix(state.wrapping_add(k)));
    Pcg64::new(word(1) << 64 | word(2), word(3) << 64 | word(4))
}

/// SplitMix64's finaliser: spreads every input bit over the word.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_are_repeatable_and_apart() {
        let draw = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        assert_eq!(draw(1, "a", 0), draw(1, "a", 0));
        let all = [draw(1, "a", 0), draw(2, "a", 0), draw(1, "b", 0), draw(1, "a", 1)];
        for i in 0..4 {
            assert!(!all[..i].contains(&all[i]));
        }
    }
}
