//! The laws of the design, each a property test by its name; `faults.txt` says which planted fault each must
//! notice. A failing run prints what was drawn, made small.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

mod catalogue_text;
mod digest_simulation;
mod engine_folder;
mod gates;
mod names;
mod outcomes;
mod random_lives;
mod seeds;
mod world;

mod law_1;
mod law_10;
mod law_11;
mod law_12;
mod law_13;
mod law_14;
mod law_15;
mod law_16;
mod law_17;
mod law_18;
mod law_19;
mod law_1_names;
mod law_2;
mod law_3_closes;
mod law_3_times;
mod law_4_moves;
mod law_4_newer;
mod law_4_stored;
mod law_5;
mod law_6;
mod law_6_ids;
mod law_6_owner;
mod law_7;
mod law_8;
mod law_8_plans;
mod law_8_put_off;
mod law_9;
