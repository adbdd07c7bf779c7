//! Slips of YAML are named where they are, and nothing is shown of what stands there: it may be a secret.

use super::{SECRET, merge_values};

#[test]
fn a_slip_is_where_it_was_written_and_shows_no_secret() {
    let check = |file: &str, expected: &str| {
        let file = file.replace("SECRET", SECRET);
        let refused = merge_values(&file, &[], &[]).unwrap_err();
        let said = format!("{refused} {refused:?}");
        assert!(!said.contains(SECRET), "{said}");
        assert_eq!(refused.to_string(), expected, "{file}");
    };
    let blank = "there is no space after this colon";
    check("secret:SECRET\nlog:\n  format: json\n", &format!("tidings.yaml:1:7: {blank}"));
    check(
        "log:\n  format:json\nlisten: '[::1]:0'\n",
        "tidings.yaml:2:3: `log` must be a map of keys: there is no space after the colon",
    );
    check(
        "secret:SECRET\n",
        "tidings.yaml:1:1: a configuration must be a map of keys: there is no space after the colon",
    );
    check("log: {format:SECRET}\n", "tidings.yaml:1:7: `log.format` has no space after its colon");
    check(
        "api_keys: [{tenant: t, key:SECRET}]\n",
        "tidings.yaml:1:24: `key` has no space after its colon\ntidings.yaml:1:12: an API key needs `key`, \
        `key_file` or `hash`",
    );
    check("listen: '[::1]:0'\nlog\n  format: json\n", "tidings.yaml:2:1: there is no colon after this word");
    check("log:\n\tformat: json\n", "tidings.yaml:2:1: this is a tab");
    check("secret: \"SECRET\nlisten: '[::1]:0'\n", "tidings.yaml:1:9: this quote is not closed");
    check("api_keys: [{key: SECRET}\nlisten: '[::1]:0'\n", "tidings.yaml:1:11: this bracket is not closed");
}
