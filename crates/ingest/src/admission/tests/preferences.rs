//! Mutes and other preferences: what is admitted, and for how many there is room.

use ::preferences::PreferenceChoice;
use model::VersionedState;
use room::testing::{parse_instant, tenant};

use super::check_admission;
use crate::{config::PREFERENCES_MAX, preference::PreferenceFact, tests::ann};

#[test]
fn mutes_are_admitted_or_refused_with_a_reason() {
    let mute = |rest: &str, expected: &str| {
        check_admission("tidings.mute", &format!(r#""version":3,"data":{{"person":"ann"{rest}}}"#), expected);
    };
    mute(r#","kind":"work_out""#, "mute ann kind work_out v3");
    mute(r#","actor":"bob""#, "mute ann actor bob v3");
    mute(r#","subject":"work:1","kind":null"#, "mute ann subject work:1 v3");
    mute(r#","thread":"author:1""#, "mute ann thread author:1 v3");
    let one = "refused /data: `data` must have exactly one of `kind`, `actor`, `subject` or `thread`";
    mute("", one);
    mute(r#","kind":"work_out","actor":"bob""#, one);
    mute(
        r#","kind":"work_uot""#,
        "refused /data/kind: there is no kind `work_uot`: did you mean `work_out`?",
    );
    mute(r#","kind":"x""#, "refused /data/kind: there is no kind `x`: use `work_out` or `work_suggested`");
    mute(
        r#","thread":"wrok:1""#,
        "refused /data/thread: wrok:1: there is no subject type `wrok`, did you mean `work`?",
    );
    mute(r#","subject":"work""#, "refused /data/subject: `work` is not of the form type:id");
    mute(r#","actor":7"#, "refused /data/actor: it is not a text");
    mute(r#","kinds":"work_out""#, "refused /data/kinds: there is no field `kinds`: did you mean `kind`?");
    check_admission(
        "tidings.unmute",
        r#""time":"2026-11-21T10:00:00Z","data":{"person":"ann","actor":"bob"}"#,
        &format!("unmute ann actor bob v{}", parse_instant("2026-11-21T10:00:00Z").0),
    );
    check_admission(
        "tidings.mutes",
        "",
        "refused /type: there is no type `tidings.mutes`: did you mean `tidings.mute`?",
    );
}

#[test]
fn preferences_are_admitted_or_refused_with_a_reason() {
    let said = |rest: &str, expected: &str| {
        let rest = format!(r#""version":3,"data":{{"person":"ann"{rest}}}"#);
        check_admission("tidings.preference", &rest, expected);
    };
    said(r#","choice":"off","all":true"#, "mute ann all v3");
    said(r#","choice":"on","channel":"push","all":true"#, "on ann push/all v3");
    let one = "refused /data: a preference is about one thing, or a kind and a subject, or about everything with `\"all\": true`";
    for slip in ["", r#","kind":null"#, r#","all":false"#, r#","all":true,"kind":"work_out""#] {
        said(&format!(r#","choice":"off"{slip}"#), one);
    }
    said(r#","choice":"digest","kind":"work_out""#, "digest ann kind work_out v3");
    said(r#","choice":"default","kind":"work_out","channel":"email""#, "unmute ann email/kind work_out v3");
    said(r#","choice":"on","subject":"work:1""#, "on ann subject work:1 v3 in @work:1");
    said(
        r#","choice":"digest","kind":"work_out","subject":"work:1","channel":"push""#,
        "digest ann push/about work_out work:1 v3 in work_out@work:1",
    );
    said(r#","choice":"off","kind":"work_out","subject":"work:1""#, "mute ann about work_out work:1 v3");
    said(r#","choice":"off","thread":"work:1""#, "mute ann thread work:1 v3");
    said(r#","choice":"off","actor":"bob""#, "mute ann actor bob v3");
    said("", "refused /data/choice: `choice` is missing");
    said(
        r#","choice":"never""#,
        "refused /data/choice: `choice` is `never`, not `on`, `digest`, `off` or `default`",
    );
    said(
        r#","choice":"on","channel":"pusch""#,
        "refused /data/channel: there is no channel `pusch`: did you mean `push`?",
    );
    said(
        r#","choice":"on","actor":"bob","subject":"work:1""#,
        "refused /data: a preference is about one thing, or a kind and a subject, and not about `actor` and `subject`",
    );
    said(
        r#","choice":"on","category":"news""#,
        "refused /data/category: there is no category `news`: the catalogue declares no `categories`",
    );
    let flat = r#""version":3,"subject":"work:1","data":{"person":"ann","choice":"off","kind":"work_out"}"#;
    let expected = "refused /subject: a preference has no attribute `subject`: put `subject` into `data`";
    check_admission("tidings.preference", flat, expected);
    let long = format!(r#","choice":"on","kind":"work_out","subject":"work:{}""#, "x".repeat(120));
    said(&long, "refused /data/subject: with its kind the subject has more than 127 bytes");
}

/// There is room for so many names; those that are there can always change.
#[test]
fn a_person_has_only_so_many_mutes() {
    let of = |name: String, on: bool| PreferenceFact {
        tenant: tenant(),
        person: ann(),
        name,
        version: 2,
        choice: on.then_some(PreferenceChoice::Off),
        crowd: None,
    };
    let verdict = |stored: usize, coming: &[usize], name: usize, on: bool| {
        let state = |names: &mut dyn Iterator<Item = usize>| {
            let mut state = VersionedState::default();
            names.for_each(|i| state.merge(&of(format!("actor {i}"), true).state()));
            state
        };
        let (stored, coming) = (state(&mut (0..stored)), state(&mut coming.iter().copied()));
        of(format!("actor {name}"), on).check_room(Some(&stored), Some(&coming)).is_ok()
    };
    assert!(verdict(0, &[], 0, true));
    assert!(verdict(PREFERENCES_MAX - 1, &[], 5_000, true));
    assert!(!verdict(PREFERENCES_MAX - 1, &[6_000], 5_000, true));
    assert!(verdict(PREFERENCES_MAX - 1, &[5_000], 5_000, false));
    assert!(
        verdict(PREFERENCES_MAX - 1, &[0, 1, 2], 5_000, true),
        "what is stored already takes no more room"
    );
    assert!(!verdict(PREFERENCES_MAX, &[], 5_000, true));
    assert!(!verdict(PREFERENCES_MAX, &[], 5_000, false), "its end is a row too");
    assert!(verdict(PREFERENCES_MAX, &[], 7, false));
}
