//! The merge as a table, the refusals with the nearest name, and that no secret is ever shown.

use std::{io, path::Path};

use super::{Given, Merged, Refused, merge, show};

const SECRET: &str = "correct-horse-battery";

fn read(path: &Path) -> io::Result<String> {
    match path.to_str() {
        Some("secret" | "conf/secret") => Ok(format!("{SECRET}\n")),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn merged(
    file: &str,
    environment: &[(&str, &str)],
    flags: &[(&'static str, &'static str, &str)],
) -> Result<Merged, Refused> {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let flags = flags.iter().map(|(name, flag, text)| Given { name, flag, text: (*text).to_owned() });
    let file = (!file.is_empty()).then_some((Path::new("tidings.yaml"), file));
    merge::merge(file, environment, flags.collect(), read)
}

fn shown(merged: &Merged, name: &str) -> String {
    let line = show::lines(merged).into_iter().find(|line| line.name == name).unwrap();
    format!("{} ({})", line.value, line.source)
}

#[test]
fn the_later_source_wins() {
    let check = |file: &str,
                 environment: &[(&str, &str)],
                 flags: &[(&'static str, &'static str, &str)],
                 name: &str,
                 expected: &str| {
        assert_eq!(shown(&merged(file, environment, flags).unwrap(), name), expected);
    };
    let (env, flag) = (("TIDINGS_DATA_DIR", "/e"), ("data_dir", "--data-dir", "/f"));
    check("", &[], &[], "data_dir", ".tidings (default)");
    check("data_dir: x\n", &[], &[], "data_dir", "x (tidings.yaml:1:11)");
    check("data_dir: x\n", &[env], &[], "data_dir", "/e (environment TIDINGS_DATA_DIR)");
    check("data_dir: x\n", &[env], &[flag], "data_dir", "/f (flag --data-dir)");
    check("", &[], &[], "catalogue", "- (default)");
    check("disk_reserve: 1 GiB", &[], &[], "disk_reserve", "1024 MiB (tidings.yaml:1:15)");
    check("disk_reserve: 1000", &[], &[], "disk_reserve", "1000 (tidings.yaml:1:15)");
    check("log:\n  format: json\n", &[], &[], "log.format", "json (tidings.yaml:2:11)");
    check("demo: true", &[("TIDINGS_DEMO", "false")], &[], "demo", "false (environment TIDINGS_DEMO)");
    check("# nothing\n", &[], &[], "listen", "127.0.0.1:7280 (default)");
    check("", &[], &[], "public_url", "- (default)");
    let public = "https://mail.example.org";
    let expected = "https://mail.example.org (environment TIDINGS_PUBLIC_URL)";
    check("public_url: https://x.example", &[("TIDINGS_PUBLIC_URL", public)], &[], "public_url", expected);
    check("listen: '[::1]:0'", &[], &[], "listen", "[::1]:0 (tidings.yaml:1:9)");
}

#[test]
fn paths_of_the_file_are_meant_from_its_folder() {
    let file =
        Some((Path::new("conf/tidings.yaml"), "data_dir: d\napi_keys: [{tenant: t, key_file: secret}]\n"));
    let merged = merge::merge(file, [], vec![], read).unwrap();
    assert_eq!(merged.config.data_dir, Path::new("conf/d"));
    assert_eq!(merged.config.api_keys.len(), 1);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let check = |file: &str, environment: &[(&str, &str)], expected: &str| {
        let refused = merged(file, environment, &[]).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{file}");
    };
    check("tennant: x", &[], "tidings.yaml:1:1: unknown key `tennant`; did you mean `tenant`?");
    check("log:\n  fliter: x", &[], "tidings.yaml:2:3: unknown key `log.fliter`; did you mean `log.filter`?");
    check("colour: x", &[], "tidings.yaml:1:1: unknown key `colour`; `tidings config` lists the known ones");
    check(
        "listen: here",
        &[],
        "tidings.yaml:1:9: listen: `here` is no address and port, such as 127.0.0.1:7280",
    );
    check("log: {format: xml}", &[], "tidings.yaml:1:15: log.format: `xml` is neither `text` nor `json`");
    check("tenant: a\ntenant: b", &[], "tidings.yaml:2:1: this key is there twice: tenant");
    check("- a", &[], "tidings.yaml:1:1: a configuration is a map of keys");
    check(
        "public_url: http://mail.example.org",
        &[],
        "tidings.yaml:1:13: public_url: `http://mail.example.org` is not encrypted: https, unless it is this machine",
    );
    check("tenant: [a]", &[], "tidings.yaml:1:9: `tenant` is one value");
    check("disk_reserve: 1 MB", &[], "tidings.yaml:1:15: disk_reserve: `1 MB` is no size, such as 256 MiB");
    check("", &[("TIDINGS_DEMO", "yes")], "environment TIDINGS_DEMO: demo: `yes` is neither true nor false");
    check(
        "",
        &[("TIDINGS_TENNANT", "x")],
        "environment: unknown variable TIDINGS_TENNANT; did you mean TIDINGS_TENANT?",
    );
    check(
        "listen: x\ndemo: maybe\n",
        &[],
        "tidings.yaml:1:9: listen: `x` is no address and port, such as 127.0.0.1:7280\n\
         tidings.yaml:2:7: demo: `maybe` is neither true nor false",
    );
}

#[test]
fn variables_that_an_orchestrator_sets_are_left_alone() {
    let set =
        ["PORT", "PORT_7280_TCP", "PORT_7280_TCP_ADDR", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP"];
    for name in set.map(|name| format!("TIDINGS_{name}")) {
        merged("", &[(&name, "tcp://10.0.0.1:7280")], &[]).unwrap();
    }
    merged("", &[("TIDINGS_STOP_AT", "x:1"), ("TIDINGS_KILLS", "5")], &[]).unwrap();
}

#[test]
fn beyond_this_machine_there_are_keys() {
    let refused = merged("listen: 0.0.0.0:80", &[], &[]).unwrap_err().to_string();
    assert!(refused.contains("0.0.0.0:80 can be reached from other machines"), "{refused}");
    merged("listen: 0.0.0.0:80", &[("TIDINGS_API_KEY", SECRET)], &[]).unwrap();
    let short = merged("", &[("TIDINGS_API_KEY", "short")], &[]).unwrap_err().to_string();
    assert_eq!(short, "environment TIDINGS_API_KEY: an API key has at least 16 characters");
}

#[test]
fn keys_have_one_source_and_are_texts() {
    let check = |keys: &str, expected: &str| {
        let refused = merged(&format!("api_keys: {keys}"), &[], &[]).unwrap_err().to_string();
        assert!(refused.contains(expected), "{keys}: {refused}");
    };
    check("[{tenant: t, key: a, key_file: b}]", "not both");
    check("[{tenant: t}]", "needs `key` or `key_file`");
    check("[{tenant: t, key: 00012345678901234}]", "`key` is a text: quote it");
    check("[{tenant: t, kee: a}]", "did you mean `key`?");
    check("[{tenant: t, key_file: nowhere}]", "nowhere: ");
    check("key", "is a list of");
}

#[test]
fn no_secret_is_ever_shown() {
    let file = format!("api_keys: [{{tenant: t, key: {SECRET}}}]");
    for (file, environment) in [
        (file.as_str(), vec![]),
        ("", vec![("TIDINGS_API_KEY", SECRET)]),
        ("", vec![("TIDINGS_API_KEY_FILE", "secret")]),
        ("api_keys: [{tenant: t, key_file: secret}]", vec![]),
    ] {
        let merged = merged(file, &environment, &[]).unwrap();
        assert_eq!(merged.config.api_keys.len(), 1);
        for text in [
            format!("{merged:?}"),
            format!("{:?}", show::lines(&merged)),
            show::json(&merged).to_string(),
            shown(&merged, "api_keys"),
        ] {
            assert!(!text.contains(SECRET), "{text}");
        }
        assert!(shown(&merged, "api_keys").contains("***"));
    }
}
