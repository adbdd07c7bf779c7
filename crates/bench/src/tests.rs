//! Every bench runs small as a test: its oracle must hold, its figures must be figures.

use std::path::Path;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bench_runs_small_and_its_oracle_holds() {
    // Those that run the program are tried where the program is: tests/kill.
    for bench in crate::BENCHES.iter().filter(|bench| !bench.runs_program) {
        // Enough people that some are near.
        let size = if bench.name == "near" { 20_000 } else { 300 };
        let report = crate::run(bench.name, Some(size), Path::new(""), &|_| {}).await.unwrap();
        assert!(report.oracle.held, "{report}");
        assert!(!report.figures.is_empty());
        for figure in &report.figures {
            assert!(figure.value > 0.0 && figure.against > 0.0 && figure.ratio.is_finite(), "{report}");
        }
    }
}

#[tokio::test]
async fn an_unknown_bench_names_the_known_ones() {
    let error = crate::run("fan", None, Path::new(""), &|_| {}).await.unwrap_err().to_string();
    assert!(error.contains("fanout") && error.contains("log"), "{error}");
}
