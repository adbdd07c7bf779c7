//! The gallery's mail, as it is: its catalogue passes every check, and a morning's mail is kept as a file.
//! `UPDATE_GOLDENS=1 cargo test -p render` writes the files anew; look at them in a browser then.

use std::{collections::BTreeMap, fs, path::Path};

use catalogue::Catalogue;
use model::{Because, Kind, Millis, PlanName, Reason, State, SubjectRef, civil::Zones};
use render::{ItemInput, MailInput, Renderer, SectionInput};
use serde_json::json;

fn gallery() -> Catalogue {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gallery");
    Catalogue::load(&dir).unwrap_or_else(|problems| panic!("{problems}"))
}

fn subject(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

/// A kind, what it is about, and whom the reader follows.
type Told<'a> = (&'a str, &'a str, &'a [&'a str]);

/// A morning on which something happened.
fn subjects(catalogue: &Catalogue) -> BTreeMap<SubjectRef, State> {
    let picture = |name: &str| format!("https://gallery.example/pictures/{name}.jpg");
    let page = |name: &str| format!("https://gallery.example/{name}");
    let facts = [
        ("artist:7", json!({"name": "Ann Lee"})),
        ("artist:8", json!({"name": "Bo Kim & Sons"})),
        ("partner:1", json!({"name": "Klein Sun"})),
        ("artwork:1", json!({"title": "Moon over the Spree", "image": picture("moon"), "page": page("moon"),
            "artist": "artist:7", "partner": "partner:1", "published": true})),
        ("artwork:2", json!({"title": "Sun", "image": picture("sun"), "page": page("sun"), "artist": "artist:7"})),
        ("artwork:3", json!({"title": "Untitled (after a <very> long afternoon in the north studio)",
            "image": picture("untitled"), "page": page("untitled"), "artist": "artist:8"})),
        ("show:5", json!({"title": "Tides", "image": picture("tides"), "page": page("tides"),
            "artists": ["artist:7", "artist:8"], "opens": "2026-11-27T17:00:00Z"})),
        ("show:6", json!({"title": "Winter Salon", "page": page("winter"), "artists": ["artist:8"],
            "opens": "2027-01-08T18:30:00Z"})),
    ];
    let state = |(of, fields): (&str, serde_json::Value)| {
        let of = subject(of);
        let state = catalogue.state(&of, fields.as_object().unwrap(), 1).unwrap();
        (of, state)
    };
    facts.into_iter().map(state).collect()
}

const MORNING: &[(&str, &[Told<'_>])] = &[
    ("New works", &[
        ("artwork_published", "artwork:1", &["artist:7"]),
        ("artwork_published", "artwork:2", &["artist:7"]),
        ("artwork_published", "artwork:3", &["artist:8"]),
    ]),
    ("Shows you follow", &[
        ("followed_artist_show", "show:5", &["artist:7", "artist:8"]),
        ("followed_artist_show", "show:6", &["artist:8"]),
    ]),
];

#[test]
fn the_catalogue_passes_every_check() {
    let problems = Renderer::check(&gallery());
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn a_morning_mail_is_as_it_was() {
    let catalogue = gallery();
    let renderer = Renderer::new(&catalogue).unwrap_or_else(|problems| panic!("{problems}"));
    let subjects = subjects(&catalogue);
    let told: Vec<_> = MORNING.iter().flat_map(|(_, told)| told.iter()).map(|(kind, of, follows)| {
        let kind = Kind::new(kind).unwrap();
        let reason = |target: &&str| Reason { kind: kind.clone(), because: Because::Follows(subject(target)) };
        (subject(of), follows.iter().map(reason).collect::<Vec<_>>(), kind)
    }).collect();
    let mut rest = told.iter();
    let sections: Vec<_> = MORNING.iter().map(|(title, items)| {
        let item = |(subject, reasons, kind): &'_ _| -> ItemInput<'_> { item(subject, reasons, kind, &subjects) };
        SectionInput { title, items: rest.by_ref().take(items.len()).map(item).collect(), more: 0 }
    }).collect();
    let mail = renderer.mail(&MailInput {
        plan: &PlanName::new("morning_mail").unwrap(),
        name: Some("Ann"),
        zone: &Zones::bundled().get_or_utc(Some("Europe/Berlin")),
        due: Millis::parse("2026-11-24T08:00:00Z").unwrap(),
        sections: &sections,
        related: &subjects,
    });
    let mail = mail.unwrap_or_else(|error| panic!("{error}"));
    golden("morning.html", &mail.html);
    golden("morning.txt", &format!("{}\n{}\n\n{}", mail.headline, mail.preheader, mail.text));
}

fn item<'a>(of: &'a SubjectRef, reasons: &'a [Reason], kind: &'a Kind, subjects: &'a BTreeMap<SubjectRef, State>) -> ItemInput<'a> {
    ItemInput { kind, subject: of, state: &subjects[of], reasons, maybe: of.as_str() == "artwork:2" }
}

fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(kept == found, "{name} has changed; UPDATE_GOLDENS=1 keeps it so:\n{found}");
}
