//! The benches that run the real program, small: their oracles must hold.

use std::process::Command;

#[test]
fn the_benches_of_the_program_run_small_and_their_oracles_hold() {
    for (name, size) in [("start", "3000"), ("flow", "4000")] {
        let ran =
            Command::new(tests::binary().unwrap()).args(["bench", name, "--size", size, "--json"]).output();
        let ran = ran.unwrap_or_else(|error| panic!("{name}: {error}"));
        let (said, talk) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{name}: {said}\n{talk}");
        let report: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(report["oracle"]["held"], true, "{report}");
        assert!(report["figures"].as_array().is_some_and(|figures| figures.len() >= 2), "{report}");
    }
}
