//! The command line: what makes sense, and what does not.

use clap::CommandFactory as _;

use super::*;

fn parse_line(line: &str) -> Result<TidingsCli, clap::Error> {
    TidingsCli::try_parse_from(line.split_whitespace())
}

#[test]
fn clap_finds_no_fault() {
    TidingsCli::command().debug_assert();
}

#[test]
fn what_makes_sense_is_read() {
    for line in [
        "tidings up --demo --catalogue c --listen 127.0.0.1:0",
        "tidings up --engine production",
        "tidings run ingest --listen 127.0.0.1:0",
        "tidings run fanout digest sender keeper --engine production",
        "tidings migrate",
        "tidings migrate --check --json",
        "tidings publish a.b x:1 title=T --id 1 --actor ann --at 2026-11-21T09:00:00Z",
        "tidings publish --file -",
        "tidings publish --upstream -",
        "tidings publish --upstream f --lines",
        "tidings publish a.b x:1 --also x:2 --also x:3 --person ann --person ben=0.9",
        "tidings mute ann --kind k",
        "tidings unmute ann --thread x:1 --json",
        "tidings follow ann x:1 --json",
        "tidings --json unfollow ann x:1",
        "tidings person ann zone=Europe/Berlin",
        "tidings feedback read ann e1 e2",
        "tidings days ann --since 3d --data-dir d",
        "tidings suppressions list ann --json",
        "tidings suppressions lift ann",
        "tidings suppressions lift ann --stream offers",
        "tidings windows ann --json",
        "tidings windows ann --release p",
        "tidings windows ann --release p --key k:1/x",
        "tidings windows ann --cancel p --key -k",
        "tidings preview k --person ann --catalogue c",
        "tidings preview k --person ann --plan p --channel push --subject x:1 --html f --json",
        "tidings sink",
        "tidings sink --listen 127.0.0.1:0 --page [::1]:0 --json",
        "tidings sink --listen 0.0.0.0:2525 --from-others",
        "tidings push key",
        "tidings push key --file k.pem --json",
        "tidings shares",
        "tidings shares --since 21d --json",
        "tidings unknown",
        "tidings unknown --hours 168 --json",
        "tidings check dir",
        "tidings check dir --only a --trace --watch --verbose --json",
        "tidings init shop",
        "tidings completions bash",
        "tidings schema",
        "tidings completions zsh",
        "tidings clock",
        "tidings clock --to due",
        "tidings clock --by 1d12h --json",
        "tidings device ann",
        "tidings device ann phone android t",
        "tidings device ann phone --remove",
        "tidings bench",
        "tidings bench log --size 100 --json",
        "tidings repartition --to 128",
        "tidings backup mark",
        "tidings backup check --json",
        "tidings migrate --tables-only",
        "tidings size --persons 250000",
        "tidings size --persons 100k,2m,1.5M --digests-within 10m,1h,30 --json",
        "tidings size --persons 1m --entries-per-day 20 --mails-per-day 0.5 --pushes-per-day 3 --peak-hour-share 20%",
        "tidings size --persons 1m --persons-per-event 1 --follows 0 --replication 1 --values",
        "tidings size --figures",
        "tidings repartition --to 1 --execute --json",
        "tidings config",
        "tidings quarantine list",
        "tidings quarantine show 1",
        "tidings quarantine retry 1 2",
        "tidings quarantine drop --all",
    ] {
        parse_line(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for line in [
        "tidings",
        "tidings upp",
        "tidings run",
        "tidings run kitchen",
        "tidings sink --listen 2525",
        "tidings sink --page localhost",
        "tidings sink mails",
        "tidings migrate ingest",
        "tidings publish",
        "tidings publish a.b",
        "tidings publish --file f a.b x:1",
        "tidings publish --upstream f --file f",
        "tidings publish --upstream f a.b x:1",
        "tidings publish --file f --lines",
        "tidings bench log --size 0",
        "tidings publish --file f --person ann",
        "tidings publish --upstream f --also x:2",
        "tidings mute ann",
        "tidings mute --kind k",
        "tidings mute ann --kind k --actor bob",
        "tidings person",
        "tidings feedback liked ann e1",
        "tidings suppressions",
        "tidings suppressions list ann --stream offers",
        "tidings windows",
        "tidings windows ann --key k",
        "tidings windows ann --release",
        "tidings windows ann --release p --cancel p",
        "tidings windows ann --release p --yes",
        "tidings windows ann --yes",
        "tidings push",
        "tidings push key k.pem",
        "tidings preview k",
        "tidings preview k ann",
        "tidings shares ann",
        "tidings shares --since",
        "tidings quarantine retry",
        "tidings quarantine drop --all 1",
        "tidings config --demo",
        "tidings init",
        "tidings check --only a",
        "tidings completions",
        "tidings completions csh",
        "tidings clock --to tomorrow",
        "tidings clock --by 2",
        "tidings clock --to due --by 2h",
        "tidings device",
        "tidings device ann phone android",
        "tidings device ann phone symbian t",
        "tidings device ann phone android t --remove",
        "tidings device ann --remove",
        "tidings backup",
        "tidings migrate --tables-only --check",
        "tidings size",
        "tidings size --persons 0",
        "tidings size --persons 1m --digests-within 25h",
        "tidings size --persons 1m --peak-hour-share 0",
        "tidings size --persons 1m --entries-per-day -1",
        "tidings size --persons 1m --values --figures",
        "tidings repartition",
        "tidings repartition --to 0",
        "tidings repartition --to 1025",
        "tidings unknown ann",
        "tidings unknown --hours 0",
        "tidings repartition 128",
    ] {
        assert!(parse_line(line).is_err(), "{line}");
    }
}

#[test]
fn a_revocation_names_an_event_or_a_subject() {
    let check = |line: &str, is_good: bool| assert_eq!(parse_line(line).is_ok(), is_good, "{line}");
    check("tidings revoke --event shop 11", true);
    check("tidings revoke --event shop 11 --subject x:1", true);
    check("tidings revoke --subject x:1 --json", true);
    check("tidings revoke", false);
    check("tidings revoke --event 11", false);
    check("tidings revoke shop 11", false);
}

#[test]
fn a_release_says_what_it_needs() {
    let check = |line: &str, says: &[&str]| {
        let error = parse_line(line).unwrap_err().to_string();
        for part in says {
            assert!(error.contains(part), "{line}: {error}");
        }
        assert!(!error.contains("measured"), "{line}: {error}");
    };
    check("tidings release --plan p", &["--person <PERSON>", "--all"]);
    check("tidings release --plan p --all --person ann", &["cannot be used with"]);
    check("tidings release --plan p --all --per-second 0", &["--per-second", "1 or more"]);
    check("tidings release --plan p --all --per-second many", &["--per-second", "it must be a whole number"]);
    check("tidings release --plan p --person ann --per-second 5", &["cannot be used with", "--per-second"]);
    for line in ["tidings release --plan p --all --per-second 1", "tidings release --plan p --person ann"] {
        parse_line(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn flags_become_configuration() {
    let given = parse_line("tidings up --demo --data-dir d").unwrap().flag_values();
    let given: Vec<_> = given.iter().map(|given| (given.name, given.flag, given.text.as_str())).collect();
    assert_eq!(given, [("data_dir", "--data-dir", "d"), ("demo", "--demo", "true")]);
}

#[test]
fn the_catalogue_is_named_on_the_line() {
    let line = ["tidings", "explain", "--person", "ann", "--event", "item:1", "--catalogue", "town"];
    let given = TidingsCli::try_parse_from(line).unwrap().flag_values();
    let given: Vec<_> = given.iter().map(|given| (given.name, given.flag, given.text.as_str())).collect();
    assert_eq!(given, [("catalogue", "--catalogue", "town")]);
}
