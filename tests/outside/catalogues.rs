//! Catalogues from a grammar: `tidings check` says what is wrong with each, and never panics, hangs or eats the memory.

use crate::{python_program, random_seed, run_program, tests_folder};

#[test]
fn a_catalogue_drawn_from_a_grammar_is_right_or_told_what_is_wrong() {
    let mut fuzzer = python_program("catalogue_fuzz.py").unwrap();
    fuzzer.arg(tests::binary().unwrap()).arg(tests_folder().join("outside/catalogue.lark"));
    fuzzer.args(["150", &random_seed().to_string()]);
    println!("{}", run_program(&mut fuzzer).unwrap());
}
