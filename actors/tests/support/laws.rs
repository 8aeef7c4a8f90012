//! How the laws are held to random cases.

use proptest::prelude::{ProptestConfig, Rng};
use proptest::test_runner::{RngSeed, TestRunner};

/// So many cases from a seed that a failed test prints. `PROPTEST_RNG_SEED` plays it again.
pub fn cases(cases: u32) -> ProptestConfig {
    let given = ProptestConfig::default();
    let rng_seed = match given.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => TestRunner::default().rng().next_u64(),
    };
    println!("PROPTEST_RNG_SEED={rng_seed}");
    let rng_seed = RngSeed::Fixed(rng_seed);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..given }
}
