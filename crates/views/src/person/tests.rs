//! What is said of a person, and what is not.

use super::{
    DossierPreference,
    dossier::{format_version, mask_url, token},
};

#[test]
fn what_lets_somebody_in_is_not_shown() {
    let check = |address: &str, shown: &str| assert_eq!(mask_url(address), shown, "{address}");
    check("https://chat.example/hooks/5ec2e7", "https://chat.example/\u{2026}");
    check("https://ann:5ec2e7@chat.example:8443?key=5ec2e7", "https://chat.example:8443/\u{2026}");
    check("nonsense 5ec2e7", "\u{2026}");
    let check = |whole: &str, shown: &str| assert_eq!(token(whole), shown, "{whole}");
    check("0123456789abcdef0123", "\u{2026}0123");
    check("0123456789abcdef012", "\u{2026}");
    check("", "\u{2026}");
}

#[test]
fn a_version_is_an_instant_only_where_it_can_be_one() {
    let check = |version: i64, expected: Option<&str>| {
        assert_eq!(format_version(version).as_deref(), expected, "{version}");
    };
    check(1_790_000_000_000, Some("2026-09-21T14:13:20.000Z"));
    check(7, None);
    check(-1, None);
    check(i64::MAX, None);
}

#[test]
fn preferences_are_said_in_words() {
    let check = |(choice, channel): (&str, Option<&str>),
                 sort: &str,
                 of: &str,
                 name: Option<&str>,
                 expected: &str| {
        let (choice, channel) = (choice.to_owned(), channel.map(str::to_owned));
        let (sort, of, name) = (sort.to_owned(), of.to_owned(), name.map(str::to_owned));
        let said = DossierPreference { choice, channel, sort, of, name, since: None };
        assert_eq!(said.describe(), expected);
    };
    let off = ("off", None);
    check(off, "kind", "item_offered", None, "kind item_offered: off");
    check(("digest", Some("email")), "category", "offers", None, "category offers: digest by email");
    check(off, "subject", "maker:7", Some("Mira Okafor"), "maker Mira Okafor: off");
    check(("on", Some("push")), "subject", "maker:7", None, "maker:7: on by push");
    check(off, "thread", "maker:7", Some("Mira Okafor"), "everything about maker Mira Okafor: off");
    check(off, "actor", "ben", None, "what ben does: off");
    check(("on", None), "about", "item_offered maker:7", None, "item_offered about maker:7: on");
    check(off, "all", "", None, "everything: off");
}
