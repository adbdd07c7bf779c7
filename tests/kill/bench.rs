//! The benches that run the real program, small: their oracles must hold.

use std::process::Command;

/// Runs a bench; all of its figures are there and its check held. Returns what engine it says.
fn check_bench(arguments: &[&str]) -> String {
    let ran = Command::new(tests::binary().unwrap()).arg("bench").args(arguments).arg("--json").output();
    let ran = ran.unwrap();
    let (said, talk) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{arguments:?}: {said}\n{talk}");
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["oracle"]["held"], true, "{report}");
    assert!(report["figures"].as_array().is_some_and(|figures| !figures.is_empty()), "{report}");
    report["engine"].as_str().unwrap().to_owned()
}

#[test]
fn the_benches_of_the_program_run_small_and_their_oracles_hold() {
    check_bench(&["start", "--size", "3000"]);
    check_bench(&["flow", "--size", "4000"]);
    check_bench(&["explain", "--size", "4000"]);
    check_bench(&["windows", "--size", "3000"]);
    check_bench(&["feedback", "--size", "4000"]);
    check_bench(&["tenants", "--size", "30000"]);
}

/// What they measure there is looked at in the crate `bench`; here, that the program has the flags for it.
#[test]
fn a_bench_of_the_program_runs_on_clusters() {
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    for name in ["route", "crowd"] {
        let said =
            check_bench(&[name, "--size", "3000", "--engine", "production", "--kafka", kafka, "--cql", cql]);
        assert!(said.contains("Kafka"), "{name}: {said}");
    }
}
