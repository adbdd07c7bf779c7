//! The gallery's mail, as it is: its catalogue passes every check, and a morning's mail is kept as a file.
//! `UPDATE_GOLDENS=1 cargo test -p render` writes the files anew; look at them in a browser then.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this file is a test")]

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

/// One thing that is told.
struct Told {
    kind: Kind,
    subject: SubjectRef,
    reasons: Vec<Reason>,
    maybe: bool,
}

impl Told {
    fn new(kind: &str, of: &str, follows: &[&str]) -> Self {
        let kind = Kind::new(kind).unwrap();
        let reason = |to: &&str| Reason { kind: kind.clone(), because: Because::Follows(subject(to)) };
        let reasons = follows.iter().map(reason).collect();
        Self { kind, subject: subject(of), reasons, maybe: of == "artwork:2" }
    }

    fn item<'a>(&'a self, subjects: &'a BTreeMap<SubjectRef, State>) -> ItemInput<'a> {
        let Self { kind, subject, reasons, maybe } = self;
        ItemInput { kind, subject, state: &subjects[subject], reasons, maybe: *maybe }
    }
}

/// A morning on which something happened.
fn subjects(catalogue: &Catalogue) -> BTreeMap<SubjectRef, State> {
    let picture = |name: &str| format!("https://gallery.example/pictures/{name}.jpg");
    let page = |name: &str| format!("https://gallery.example/{name}");
    let facts = [
        ("artist:7", json!({"name": "Ann Lee"})),
        ("artist:8", json!({"name": "Bo Kim & Sons"})),
        ("partner:1", json!({"name": "Klein Sun"})),
        (
            "artwork:1",
            json!({"title": "Moon over the Spree", "image": picture("moon"), "page": page("moon"),
            "artist": "artist:7", "partner": "partner:1", "published": true}),
        ),
        (
            "artwork:2",
            json!({"title": "Sun", "image": picture("sun"), "page": page("sun"), "artist": "artist:7"}),
        ),
        (
            "artwork:3",
            json!({"title": "Untitled (after a <very> long afternoon in the north studio)",
            "image": picture("untitled"), "page": page("untitled"), "artist": "artist:8"}),
        ),
        (
            "show:5",
            json!({"title": "Tides", "image": picture("tides"), "page": page("tides"),
            "artists": ["artist:7", "artist:8"], "opens": "2026-11-27T17:00:00Z"}),
        ),
        (
            "show:6",
            json!({"title": "Winter Salon", "page": page("winter"), "artists": ["artist:8"],
            "opens": "2027-01-08T18:30:00Z"}),
        ),
    ];
    let state = |(of, fields): (&str, serde_json::Value)| {
        let of = subject(of);
        let state = catalogue.state(&of, fields.as_object().unwrap(), 1).unwrap();
        (of, state)
    };
    facts.into_iter().map(state).collect()
}

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
    let works = [
        Told::new("artwork_published", "artwork:1", &["artist:7"]),
        Told::new("artwork_published", "artwork:2", &["artist:7"]),
        Told::new("artwork_published", "artwork:3", &["artist:8"]),
    ];
    let shows = [
        Told::new("followed_artist_show", "show:5", &["artist:7", "artist:8"]),
        Told::new("followed_artist_show", "show:6", &["artist:8"]),
    ];
    let sections = [
        SectionInput {
            title: "New works",
            items: works.iter().map(|told| told.item(&subjects)).collect(),
            more: 4,
        },
        SectionInput {
            title: "Shows you follow",
            items: shows.iter().map(|told| told.item(&subjects)).collect(),
            more: 0,
        },
    ];
    let mail = renderer.mail(&MailInput {
        plan: &PlanName::new("morning_mail").unwrap(),
        name: Some("Ann"),
        zone: &Zones::bundled().get_or_utc(Some("Europe/Berlin")),
        due: Millis::parse("2026-11-24T08:00:00Z").unwrap(),
        sections: &sections,
        related: &subjects,
    });
    let mail = mail.unwrap_or_else(|error| panic!("{error}"));
    golden("morning.html", &format!("{}\n", mail.html));
    golden("morning.txt", &format!("{}\n{}\n\n{}", mail.headline, mail.preheader, mail.text));
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
