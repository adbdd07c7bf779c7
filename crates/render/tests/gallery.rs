//! The gallery's mails, as they are: its catalogue passes every check, and a mail of each kind and one of
//! everything are kept as files.
//! `UPDATE_GOLDENS=1 cargo test -p render` writes the files anew; look at them in a browser then.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this file is a test")]

use std::{collections::BTreeMap, fs, path::Path};

use catalogue::Catalogue;
use model::{
    AudienceMatch, EntryReason, GeoPoint, Kind, PersonScore, PlanName, SubjectRef, UtcMillis, VersionedState,
    civil_time::ZoneRules,
};
use render::{ItemInput, MailInput, MessageRenderer, RenderedMail, SectionInput};
use serde_json::json;

/// In Berlin.
const READER: GeoPoint = GeoPoint { lat: 52.52, lon: 13.405 };
const LINK: &str = "https://mail.gallery.example/u/AQRtYWluA2Fubgxtb3JuaW5nX21haWwFZW1haWw";

const GALLERY: &str = "examples/gallery";
/// The gallery with one kind more.
const SIX: &str = "tests/catalogues/gallery-six";

fn read_gallery_file(folder: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn load_gallery() -> Catalogue {
    parse_gallery(&read_gallery_file(GALLERY, "catalogue.yaml"))
}

/// A catalogue that has the gallery's layouts.
fn parse_gallery(text: &str) -> Catalogue {
    let layouts = |name: &str| Ok(read_gallery_file(GALLERY, name));
    Catalogue::parse(text, "catalogue.yaml", &layouts).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Titles of sections, as the catalogue has them.
const NEW_WORKS: &str = r#"{{ say("new-works") }}"#;
const SHOWS: &str = r#"{{ say("shows") }}"#;
const NEAR_YOU: &str = r#"{{ say("near-you") }}"#;
const PICKED: &str = r#"{{ say("picked") }}"#;

/// What is told: the section, the kind in whose words, the subject, and why: what is followed, `near` or
/// `listed`. The second one may have been sent before.
const WORKS: [GalleryLine; 3] = [
    (NEW_WORKS, "artwork_published", "artwork:1", &["artist:7", "partner:1"]),
    (NEW_WORKS, "artwork_published", "artwork:2", &["artist:7"]),
    (NEW_WORKS, "artwork_published", "artwork:3", &["partner:2"]),
];
const ARTISTS_SHOWS: [GalleryLine; 2] = [
    (SHOWS, "followed_artist_show", "show:5", &["artist:7", "artist:8", "near"]),
    (SHOWS, "followed_artist_show", "show:6", &["artist:8"]),
];
const PARTNERS_SHOWS: [GalleryLine; 1] = [(SHOWS, "followed_partner_show", "show:7", &["partner:2"])];
const NEARBY: [GalleryLine; 2] =
    [(NEAR_YOU, "nearby_show", "show:8", &["near"]), (NEAR_YOU, "nearby_show", "show:9", &["near"])];
const SUGGESTED: [GalleryLine; 2] = [
    (PICKED, "artwork_suggested", "artwork:4", &["listed"]),
    (PICKED, "artwork_suggested", "artwork:5", &["listed"]),
];

type GalleryLine = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// A morning on which something happened.
fn gallery_subjects(catalogue: &Catalogue) -> BTreeMap<SubjectRef, VersionedState> {
    let work = |name: &str, title: &str, artist: u8, partner: u8, medium: &str| {
        json!({"title": title, "image": format!("https://gallery.example/images/{name}.jpg"), "medium": medium,
            "page": format!("https://gallery.example/{name}"), "artist": format!("artist:{artist}"),
            "partner": format!("partner:{partner}"), "published": true})
    };
    let show =
        |name: &str, title: &str, artists: &[&str], (city, lat, lon): (&str, f64, f64), opens: &str| {
            json!({"title": title, "image": format!("https://gallery.example/images/{name}.jpg"),
            "page": format!("https://gallery.example/{name}"), "artists": artists, "partner": "partner:2",
            "city": city, "place": {"lat": lat, "lon": lon}, "opens": opens})
        };
    let long = "Untitled (after a <very> long afternoon in the north studio)";
    let facts = [
        ("artist:7", json!({"name": "Mira Holm"})),
        ("artist:8", json!({"name": "Bo Kim & Sons"})),
        ("partner:1", json!({"name": "Klein Sun"})),
        ("partner:2", json!({"name": "Galerie Nord"})),
        ("artwork:1", work("moon", "Moon over the Spree", 7, 1, "Oil on linen")),
        // Of this one, little is known.
        ("artwork:2", json!({"title": "Sun", "page": "https://gallery.example/sun", "artist": "artist:7"})),
        ("artwork:3", work("untitled", long, 8, 2, "Tempera on panel")),
        ("artwork:4", work("kiln", "Kiln Song", 8, 2, "Stoneware")),
        ("artwork:5", work("rain", "Vessel with Rain", 7, 1, "Glass")),
        (
            "show:5",
            show(
                "tides",
                "Tides",
                &["artist:7", "artist:8"],
                ("Berlin", 52.50, 13.44),
                "2026-11-27T17:00:00Z",
            ),
        ),
        (
            "show:6",
            json!({"title": "Winter Salon", "artists": ["artist:8"], "opens": "2027-01-08T18:30:00Z"}),
        ),
        ("show:7", show("loom", "Loom", &["artist:9"], ("Hamburg", 53.55, 10.0), "2026-12-03T17:00:00Z")),
        ("show:8", show("ink", "Ink", &["artist:8"], ("Berlin", 52.523, 13.41), "2026-12-01T18:00:00Z")),
        ("show:9", show("earth", "Fired Earth", &[], ("Potsdam", 52.40, 13.06), "2026-12-10T17:00:00Z")),
    ];
    let state = |(of, fields): (&str, serde_json::Value)| {
        let of = subject_ref(of);
        let state = catalogue.state(&of, fields.as_object().unwrap(), 1).unwrap();
        (of, state)
    };
    facts.into_iter().map(state).collect()
}

fn subject_ref(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

fn line_reasons((_, kind, _, because): &GalleryLine) -> Vec<EntryReason> {
    let reason = |word: &&str| match *word {
        "near" => EntryReason { kind: Kind::new("nearby_show").unwrap(), because: AudienceMatch::Near },
        "listed" => {
            let because = AudienceMatch::Listed(PersonScore::new(0.9).unwrap());
            EntryReason { kind: Kind::new(kind).unwrap(), because }
        }
        to => {
            EntryReason { kind: Kind::new(kind).unwrap(), because: AudienceMatch::Follows(subject_ref(to)) }
        }
    };
    because.iter().map(reason).collect()
}

/// The mail of a plan that tells these lines, and had no room for so many more in each section.
fn gallery_mail(plan: &str, lines: &[GalleryLine], more: usize) -> RenderedMail {
    mail_of(&load_gallery(), plan, lines, more)
}

fn mail_of(catalogue: &Catalogue, plan: &str, lines: &[GalleryLine], more: usize) -> RenderedMail {
    let renderer = MessageRenderer::new(catalogue).unwrap_or_else(|problems| panic!("{problems}"));
    let states = gallery_subjects(catalogue);
    let told: Vec<(Kind, SubjectRef, Vec<EntryReason>)> = lines
        .iter()
        .map(|line| (Kind::new(line.1).unwrap(), subject_ref(line.2), line_reasons(line)))
        .collect();
    let words = render::ItemWords::default();
    let mut sections: Vec<SectionInput<'_>> = Vec::new();
    for ((title, ..), (kind, subject, reasons)) in lines.iter().zip(&told) {
        let maybe = subject.as_str() == "artwork:2";
        let item = ItemInput { kind, subject, state: &states[subject], reasons, maybe, words: &words };
        match sections.iter_mut().find(|section| section.title == *title) {
            Some(section) => section.items.push(item),
            None => sections.push(SectionInput { title, items: vec![item], more }),
        }
    }
    let mail = renderer.render_mail(&MailInput {
        variant: 7,
        plan: &PlanName::new(plan).unwrap(),
        name: Some("Ann"),
        language: None,
        zone: &ZoneRules::load_bundled().get_or_utc(Some("Europe/Berlin")),
        due: UtcMillis::parse("2026-11-24T08:00:00Z").unwrap(),
        sections: &sections,
        related: &states,
        persons: &BTreeMap::new(),
        place: Some(READER),
        unsubscribe: Some(LINK),
        slots: None,
    });
    mail.unwrap_or_else(|error| panic!("{error}"))
}

fn check_golden(name: &str, found: &RenderedMail) {
    let text = format!("{}\n{}\n\n{}", found.headline, found.preheader, found.text);
    for (name, found) in
        [(format!("{name}.html"), format!("{}\n", found.html)), (format!("{name}.txt"), text)]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(&name);
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, found).unwrap();
            continue;
        }
        let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(kept == found, "{name} has changed; UPDATE_GOLDENS=1 keeps it so:\n{found}");
    }
}

#[test]
fn the_catalogue_passes_every_check() {
    let problems = MessageRenderer::check(&load_gallery());
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn a_sixth_kind_is_a_change_of_the_catalogue_alone() {
    let (five, six) =
        (read_gallery_file(GALLERY, "catalogue.yaml"), read_gallery_file(SIX, "catalogue.yaml"));
    // The first line is for editors: it leads from the folder to the schema.
    let (five, of_six): (Vec<&str>, Vec<&str>) =
        (five.lines().skip(1).collect(), six.lines().skip(1).collect());
    let (more, rest): (Vec<&str>, Vec<&str>) = of_six.into_iter().partition(|line| line.ends_with("# sixth"));
    assert!(rest == five, "{SIX} has more than its own lines, or less");
    assert_eq!(more.len(), 8, "a kind, and a section in each plan");
    for layout in ["mail/morning.mjml", "mail/morning.txt", "words/en.ftl", "words/de.ftl"] {
        assert!(
            read_gallery_file(GALLERY, layout) == read_gallery_file(SIX, layout),
            "{layout} of {SIX} is not the gallery's"
        );
    }
    let problems = MessageRenderer::check(&parse_gallery(&six));
    assert!(problems.is_empty(), "{problems}");
    let reduced = [("Reduced", "artwork_reduced", "artwork:1", &["artist:7"][..])];
    let found = mail_of(&parse_gallery(&six), "morning_mail", &reduced, 0);
    assert_eq!(found.headline, "“Moon over the Spree”");
    assert!(found.html.contains("“Moon over the Spree” costs less"), "{}", found.html);
    assert!(found.text.contains("“Moon over the Spree” costs less"), "{}", found.text);
}

#[test]
fn a_kind_may_be_about_a_subject_that_has_only_a_name() {
    let kind = "\n  partner_opened:
    on: partner.opened
    to: {followers_of: subject}
    says: '{{ subject.name | default(\"A gallery\") }} has opened its doors'
    plans: [morning_mail, weekly_mail]\n\nplans:\n";
    let works = format!("\n      - {{title: '{NEW_WORKS}',");
    let own = format!("\n      - {{title: Galleries, kinds: [partner_opened], most: 3}}{works}");
    let opened: GalleryLine = (NEW_WORKS, "partner_opened", "partner:2", &["partner:2"]);
    for (section, with) in [
        // In a section of its own, and among works.
        (works.as_str(), own.as_str()),
        ("[artwork_published], most", "[artwork_published, partner_opened], most"),
    ] {
        // A gallery has no artist to stand under.
        let text = read_gallery_file(GALLERY, "catalogue.yaml").replace(", group: artist}", "}");
        let text = text.replace("\nplans:\n", kind).replace(section, with);
        let catalogue = parse_gallery(&text);
        let problems = MessageRenderer::check(&catalogue);
        assert!(problems.is_empty(), "{problems}");
        let found = mail_of(&catalogue, "weekly_mail", &[WORKS[0], opened, WORKS[1]], 0);
        assert_eq!(found.headline, "Your week: “Moon over the Spree”, Galerie Nord and 1 more");
        assert!(found.html.contains("Galerie Nord has opened its doors"), "{}", found.html);
        let alone = mail_of(&catalogue, "morning_mail", &[opened], 0);
        assert_eq!(alone.headline, "Galerie Nord");
    }
}

#[test]
fn a_mail_says_when_it_comes() {
    let check = |plan: &str, said: &str| {
        let found = gallery_mail(plan, &WORKS, 0);
        for part in [found.html, found.text.replace('\n', " ")] {
            assert!(part.contains("Hello, Ann") && part.contains(said), "{part}");
        }
    };
    check("morning_mail", "You get this mail at most once a day, and only");
    check("weekly_mail", "You get this mail on Sundays, and only");
}

#[test]
fn a_mail_of_each_kind_is_as_it_was() {
    check_golden("artwork_published", &gallery_mail("morning_mail", &WORKS, 4));
    check_golden("followed_artist_show", &gallery_mail("morning_mail", &ARTISTS_SHOWS, 0));
    check_golden("followed_partner_show", &gallery_mail("morning_mail", &PARTNERS_SHOWS, 0));
    check_golden("nearby_show", &gallery_mail("morning_mail", &NEARBY, 0));
    check_golden("artwork_suggested", &gallery_mail("morning_mail", &SUGGESTED, 0));
}

#[test]
fn a_mail_of_everything_is_as_it_was() {
    let all = [&WORKS[..], &ARTISTS_SHOWS, &PARTNERS_SHOWS, &NEARBY, &SUGGESTED].concat();
    check_golden("morning", &gallery_mail("morning_mail", &all, 2));
    check_golden("weekly", &gallery_mail("weekly_mail", &all, 0));
}

/// Mailboxes cut a mail off at 102 KB, and with it the link that ends such mails.
#[test]
fn a_full_mail_of_the_week_is_shown_whole() {
    let many =
        |lines: &[GalleryLine], most: usize| lines.iter().cycle().take(most).copied().collect::<Vec<_>>();
    let shows = [&ARTISTS_SHOWS[..], &PARTNERS_SHOWS].concat();
    let full = [many(&WORKS, 16), many(&shows, 10), many(&NEARBY, 8), many(&SUGGESTED, 8)].concat();
    let bytes = gallery_mail("weekly_mail", &full, 9).html.len();
    assert!((40_000..100_000).contains(&bytes), "{bytes}");
}

/// What the headline says of all things is so of each.
#[test]
fn a_headline_says_only_what_is_true_of_all() {
    let check = |lines: &[GalleryLine], says: &str| {
        let found = gallery_mail("morning_mail", lines, 0).headline;
        assert!(found.ends_with(says), "{found}");
    };
    check(&WORKS, " and 1 more: new works");
    check(&SUGGESTED, ": picked for you");
    check(&NEARBY, ": near you");
    check(&[&WORKS[..1], &SUGGESTED].concat(), " and 1 more");
    check(&[&ARTISTS_SHOWS[..1], &PARTNERS_SHOWS].concat(), "“Loom”");
}

#[test]
fn every_kind_has_its_golden_mail() {
    for kind in load_gallery().kinds.keys() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{kind}.html"));
        assert!(path.exists(), "{kind}");
    }
}
