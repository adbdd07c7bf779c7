//! Who answers a command beside a running house.

use std::fs;

use shell::datadir::{AdminAccess, DataDir};

use super::*;

#[test]
fn a_house_answers_for_its_own_tenant_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("topics")).unwrap();
    let data = DataDir::hold(dir.path()).unwrap();
    let (address, tenant, pid) = ("http://127.0.0.1:0".to_owned(), "acme".to_owned(), 7);
    // Nobody is there to be asked, so what is not refused finds no answer.
    data.publish(&AdminAccess { address, token: "secret".into(), tenant, pid }).unwrap();
    let asked = |line: &str| {
        let dir = dir.path().to_str().unwrap();
        let words = ["tidings"].into_iter().chain(line.split_whitespace()).chain(["--data-dir", dir]);
        let cli = TidingsCli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let flags = cli.flag_values();
        let settings = || Ok(config::load_config(None, [], flags.clone()).unwrap());
        run_command(cli.command, settings, OutputStyle { json: true }, |_, _, _| Ok(())).unwrap_err()
    };
    let of_a_tenant = [
        "publish a.b x:1",
        "follow ann x:1",
        "unfollow ann x:1",
        "mute ann --kind k",
        "unmute ann --kind k",
        "person ann",
        "person ann zone=UTC",
        "feedback read ann e1",
        "device ann",
        "device ann phone ios t",
        "device ann phone --remove",
        "days ann",
        "windows ann",
        "windows ann --release p",
        "windows ann --cancel p --yes",
        "shares",
        "explain --person ann --event x:1",
        "preview k --person ann",
        "release --plan p --person ann",
        "release --plan p --all",
        "suppressions list ann",
        "suppressions lift ann",
        "erase ann --yes",
        "erase ann --dry-run",
        "erase ann --welcome",
        "erase ann --receipt",
        "unknown",
    ];
    for line in of_a_tenant {
        for (tenant, runs) in [("", "main"), (" --tenant other", "other")] {
            let failure = asked(&format!("{line}{tenant}"));
            let expected = format!("this house runs for tenant `acme`, not `{runs}`; see --tenant");
            assert_eq!((failure.to_string(), failure.exit_code()), (expected, 3), "{line}{tenant}");
        }
        let failure = asked(&format!("{line} --tenant acme"));
        assert!(failure.to_string().starts_with("process 7 does not answer"), "{line}: {failure}");
    }
    // What is about the house is about all tenants in it.
    for line in
        ["quarantine list", "state list", "clock", "clock --by 2h", "archive --before 2026-01-05 --out f"]
    {
        let failure = asked(&format!("{line} --tenant other"));
        assert!(failure.to_string().starts_with("process 7 does not answer"), "{line}: {failure}");
    }
}

#[test]
fn what_asks_for_no_setting_works_beside_wrong_ones() {
    let check = |line: &str, asks: bool| {
        let cli = TidingsCli::try_parse_from(["tidings"].into_iter().chain(line.split_whitespace())).unwrap();
        let wrong = || Err(CommandError::from_refusal("a wrong setting"));
        let said = run_command(cli.command, wrong, OutputStyle { json: true }, |_, _, _| Ok(()));
        let refused = said.is_err_and(|error| error.to_string() == "a wrong setting");
        assert_eq!(refused, asks, "{line}");
    };
    check(concat!("check ", env!("CARGO_MANIFEST_DIR"), "/scaffold"), false);
    check("schema", false);
    check("size --persons 1000", false);
    check("config", true);
    check("shares", true);
    check("up", true);
}
