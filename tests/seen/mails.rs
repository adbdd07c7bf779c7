//! Golden mails: what the gallery sends on mornings of every sort, as it arrives at a mail server, before those who judge
//! mails. `TIDINGS_PICTURES=DIR cargo test -p tests --test seen` leaves pictures of them to look at.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use engines::{MailOptions, PythonMailServer};
use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::{
    house::{ExampleHouse, example_folder, wait_for},
    judges::{self, POINTS_MAX, PageLook},
};

/// Gmail cuts off what is longer.
const HTML_BYTES_MAX: usize = 102 * 1024;
/// WCAG AA for texts of any size.
const CONTRAST_MIN: f64 = 4.5;
/// A phone and a desk.
const WIDTHS: [u32; 2] = [375, 900];

/// Who gets a mail, and what for: a subject with its fields each.
struct GoldenMorning {
    person: &'static str,
    name: &'static str,
    works: &'static [(&'static str, &'static str)],
    /// Shows, with the city.
    shows: &'static [(&'static str, &'static str)],
    has_pictures: bool,
}

const MORNINGS: [GoldenMorning; 5] = [
    // Several sections, pictures in all of them, and more than there is room for.
    GoldenMorning {
        person: "digest",
        name: "Ann",
        works: &[
            ("Moon over the Spree", "Oil on linen"),
            ("Sun", ""),
            ("Tempera study", "Tempera"),
            ("Kiln Song", "Stoneware"),
            ("Vessel with Rain", "Glass"),
            ("Untitled (after a <very> long afternoon in the north studio)", "Oil"),
            ("Salt & Smoke", "Ink"),
            ("Night Ferry", "Etching"),
            ("The Ninth", "Etching"),
            ("The Tenth", "Etching"),
        ],
        shows: &[("Tides", "Berlin"), ("Winter Salon", "Potsdam"), ("Loom", "")],
        has_pictures: true,
    },
    GoldenMorning {
        person: "single",
        name: "",
        works: &[("Moon", "Oil on linen")],
        shows: &[],
        has_pictures: true,
    },
    GoldenMorning {
        person: "plain",
        name: "Jo",
        works: &[("Moon", "Oil on linen"), ("Sun", ""), ("Kiln Song", "Stoneware")],
        shows: &[("Tides", "Berlin")],
        has_pictures: false,
    },
    GoldenMorning {
        person: "scripts",
        name: "ليلى 🎨",
        works: &[
            ("القمر فوق النهر", "زيت على قماش"),
            ("川の上の月、そしてとても長い題名の夜の風景画", "油彩"),
            ("ירח מעל הנהר", "🖼️ שמן על בד"),
            ("🌕🌊", "👩🏽‍🎨"),
        ],
        shows: &[("المد والجزر", "برلين"), ("潮の満ち引き", "京都市")],
        has_pictures: true,
    },
    GoldenMorning {
        person: "long",
        name: "Maximiliane-Henriette",
        works: &[
            (
                "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnungsentwurf im Nebel eines sehr langen Morgens",
                "Öl",
            ),
            (
                "https://gallery.example/an/address/that/has/no/place/to/break/and/goes/on/and/on/and/on/and/on",
                "Print",
            ),
        ],
        shows: &[],
        has_pictures: true,
    },
];

/// A mail as it arrived, and its parts as files.
struct GoldenMail {
    name: &'static str,
    mail: PathBuf,
    html: PathBuf,
    /// Without each `<style>`, as some mailboxes show it.
    bare: PathBuf,
    text: String,
    headline: String,
    /// What was shown of it before it went, where it tells things of one kind.
    previewed: Option<Value>,
}

#[test]
fn golden_mails_pass_those_who_judge_mails() {
    let folder = tempfile::tempdir().unwrap();
    let goldens = make_goldens(folder.path()).unwrap();
    assert_eq!(check_signed(&goldens, folder.path()).unwrap(), Vec::<String>::new());
    assert_eq!(check_spam(&goldens).unwrap(), Vec::<String>::new());
    assert_eq!(check_lint(&goldens).unwrap(), Vec::<String>::new());
    assert_eq!(check_words(&goldens).unwrap(), Vec::<String>::new());
    let files: Vec<PathBuf> =
        goldens.iter().flat_map(|golden| [golden.html.clone(), golden.bare.clone()]).collect();
    let looks = judges::draw_looks(&files, &WIDTHS).unwrap();
    assert_eq!(looks.len(), files.len() * WIDTHS.len() * 2);
    let wrong: Vec<String> =
        looks.iter().flat_map(|look| check_look(look, 100)).chain(check_inlined(&looks)).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// The other example with mails of its own, as its previews show them.
#[test]
fn previews_of_another_example_pass_linters_and_the_browser() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("TIDINGS_PUBLIC_URL", "https://mail.dating.example")];
    let house = ExampleHouse::start(&example_folder("dating"), &settings).unwrap();
    let profile = json!({"person": "ann", "name": "Ann", "email": "ann@mail.example", "zone": "UTC"});
    house
        .say("/v1/facts", &[json!({"id": "1", "source": "seen", "type": "tidings.profile", "data": profile})])
        .unwrap();
    let mut files = Vec::new();
    for kind in ["new_message", "profile_visit"] {
        let file = folder.path().join(format!("{kind}.html"));
        let words =
            ["preview", kind, "--person", "ann", "--channel", "email", "--html", file.to_str().unwrap()];
        let previews = house.command(&words).unwrap();
        assert_eq!(previews[0]["of"], "example", "{previews}");
        let bare = file.with_extension("bare.html");
        fs::write(&bare, without_styles(&fs::read_to_string(&file).unwrap())).unwrap();
        files.extend([file, bare]);
    }
    let linted: Vec<PathBuf> = files.iter().step_by(2).cloned().collect();
    let said = judges::lint_files(&linted).unwrap();
    assert_eq!((said.len(), said.into_values().flatten().collect::<Vec<_>>()), (2, vec![]));
    let looks = judges::draw_looks(&files, &WIDTHS).unwrap();
    assert_eq!(looks.len(), files.len() * WIDTHS.len() * 2);
    // Faces are small.
    let wrong: Vec<String> =
        looks.iter().flat_map(|look| check_look(look, 24)).chain(check_inlined(&looks)).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// Has a house with keys of both kinds tell all mornings, and takes the mails apart.
fn make_goldens(folder: &Path) -> Result<Vec<GoldenMail>> {
    let server = PythonMailServer::start(MailOptions::default())?;
    let way = format!("smtp+plain://{}:{}", server.host(), server.port());
    let keys = judges::make_keys("gallery.example", folder)?;
    let settings = [
        ("TIDINGS_MAIL_WAYS", way.as_str()),
        ("TIDINGS_MAIL_DKIM", &keys),
        ("TIDINGS_PUBLIC_URL", "https://mail.gallery.example"),
    ];
    let house = ExampleHouse::start(&example_folder("gallery"), &settings)?;
    for morning in &MORNINGS {
        morning.tell_house(&house)?;
    }
    house.settle()?;
    let mut previews = BTreeMap::new();
    for morning in MORNINGS.iter().filter(|morning| morning.shows.is_empty()) {
        let words = ["preview", "artwork_published", "--plan", "morning_mail", "--person", morning.person];
        previews.insert(morning.person, house.command(&words)?[0].clone());
    }
    // By hand, so that its date is of today: filters look at that.
    house.release("morning_mail")?;
    let arrived = wait_for("the mails", || {
        let arrived = server.arrived_mails()?;
        Ok((arrived.len() >= MORNINGS.len()).then_some(arrived))
    })?;
    let mut by_address = BTreeMap::new();
    for mail in arrived {
        let to = mail.about["to"][0].as_str().context("a mail to nobody")?.to_owned();
        ensure!(by_address.insert(to.clone(), mail.bytes).is_none(), "{to} was told twice");
    }
    let of = |morning: &GoldenMorning| {
        let bytes =
            by_address.get(&morning.address()).with_context(|| format!("{} has no mail", morning.person))?;
        let previewed = previews.get(morning.person).cloned();
        Ok(GoldenMail { previewed, ..take_apart(morning.person, bytes, folder)? })
    };
    MORNINGS.iter().map(of).collect()
}

impl GoldenMorning {
    fn address(&self) -> String {
        format!("{}@mail.example", self.person)
    }

    /// Who it is, and what happened since yesterday that they care for.
    fn tell_house(&self, house: &ExampleHouse) -> Result<()> {
        let Self { person, name, works, shows, has_pictures } = self;
        let (artist, partner) = (format!("artist:{person}"), format!("partner:{person}"));
        // So far from each other that nobody hears of another's shows.
        let index = MORNINGS.iter().position(|morning| morning.person == *person).unwrap_or_default();
        let place = format!("{},13.4", 10 * (index + 1));
        let mut number = 0;
        let mut head = |what: &str| {
            number += 1;
            json!({"id": format!("{person}-{number}"), "source": "golden", "type": what})
        };
        let with = |head: Value, more: Value| match (head, more) {
            (Value::Object(mut head), Value::Object(more)) => {
                head.extend(more);
                Value::Object(head)
            }
            (head, _) => head,
        };
        let mut profile = json!({"person": person, "email": self.address(), "zone": "UTC", "place": place});
        if !name.is_empty() {
            profile["name"] = json!(name);
        }
        let facts = [
            with(head("tidings.profile"), profile),
            with(head("tidings.follow"), json!({"person": person, "target": artist})),
        ];
        house.say("/v1/facts", &facts)?;
        let page = |title: &str| format!("https://gallery.example/{}", title.len());
        let bare = |own: &mut Value| {
            if !has_pictures && let Some(own) = own.as_object_mut() {
                own.remove("image");
            }
        };
        let mut changes = vec![
            with(head("artist.changed"), json!({"subject": artist, "name": "Mira Holm"})),
            with(head("partner.changed"), json!({"subject": partner, "name": "Galerie Nord"})),
        ];
        for (index, (title, medium)) in works.iter().enumerate() {
            let mut own = json!({"subject": format!("artwork:{person}-{index}"), "title": title, "medium": medium, "artist": artist,
                "partner": partner, "published": true, "page": page(title), "image": format!("{}.jpg", page(title))});
            bare(&mut own);
            changes.push(with(head("artwork.published"), own));
        }
        for (index, (title, city)) in shows.iter().enumerate() {
            let mut own = json!({"subject": format!("show:{person}-{index}"), "title": title, "city": city, "artists": [artist],
                "partner": partner, "opens": "2030-01-01T18:00:00Z", "place": place,
                "page": page(title), "image": format!("{}.jpg", page(title))});
            bare(&mut own);
            changes.push(with(head("show.announced"), own));
        }
        house.say("/v1/changes", &changes)
    }
}

fn take_apart(name: &'static str, bytes: &[u8], folder: &Path) -> Result<GoldenMail> {
    let parsed = MessageParser::default().parse(bytes).context("a mail that cannot be read")?;
    let (html, text) = (parsed.body_html(0).context("no HTML")?, parsed.body_text(0).context("no text")?);
    let [mail, page, bare] =
        ["eml", "html", "bare.html"].map(|ending| folder.join(format!("{name}.{ending}")));
    fs::write(&mail, bytes)?;
    fs::write(&page, html.as_bytes())?;
    fs::write(&bare, without_styles(&html))?;
    let (text, headline) = (text.into_owned(), parsed.subject().unwrap_or_default().to_owned());
    Ok(GoldenMail { name, mail, html: page, bare, text, headline, previewed: None })
}

fn without_styles(html: &str) -> String {
    let mut pieces = html.split("<style");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |kept, piece| kept + piece.split_once("</style>").map_or("", |(_, after)| after))
}

/// Both signatures of each hold, and there is no other.
fn check_signed(goldens: &[GoldenMail], folder: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for golden in goldens {
        let held = judges::check_signatures(&golden.mail, folder)?;
        if held.len() != 2 || !held.values().all(|holds| *holds) {
            wrong.push(format!("{}: signatures: {held:?}", golden.name));
        }
    }
    Ok(wrong)
}

fn check_spam(goldens: &[GoldenMail]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let points = std::thread::scope(|scope| {
        let asked: Vec<_> =
            goldens.iter().map(|golden| scope.spawn(|| judges::spam_points(&golden.mail))).collect();
        asked
            .into_iter()
            .map(|one| one.join().map_err(|_| anyhow::anyhow!("a judge died"))?)
            .collect::<Result<Vec<_>>>()
    })?;
    for (golden, (points, rules)) in goldens.iter().zip(points) {
        if points >= POINTS_MAX {
            wrong.push(format!("{}: SpamAssassin: {rules}", golden.name));
        }
    }
    Ok(wrong)
}

fn check_lint(goldens: &[GoldenMail]) -> Result<Vec<String>> {
    let files: Vec<PathBuf> = goldens.iter().map(|golden| golden.html.clone()).collect();
    let said = judges::lint_files(&files)?;
    ensure!(said.len() == goldens.len(), "not all were looked at: {said:?}");
    let lines =
        said.into_iter().flat_map(|(file, said)| said.into_iter().map(move |said| format!("{file}: {said}")));
    Ok(lines.collect())
}

/// The text says what the HTML says, and the HTML is not too long.
fn check_words(goldens: &[GoldenMail]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for golden in goldens {
        let bytes = fs::metadata(&golden.html)?.len();
        if bytes > HTML_BYTES_MAX as u64 {
            wrong.push(format!("{}: {bytes} bytes of HTML", golden.name));
        }
        let morning =
            MORNINGS.iter().find(|morning| morning.person == golden.name).context("no such morning")?;
        // As one line, however it was wrapped.
        let text = golden.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let html = fs::read_to_string(&golden.html)?;
        let told = morning.works.iter().map(|(title, _)| *title).take(8).filter(|title| !title.contains('<'));
        for title in told.chain(morning.shows.iter().map(|(title, _)| *title)) {
            let said = [text.contains(title), html.contains(&title.replace('&', "&amp;"))];
            // The newest eight have room, and those are not the first of ten.
            if said[0] != said[1] || (morning.works.len() <= 8 && !said[0]) {
                wrong.push(format!("{}: `{title}` is said by {said:?}", golden.name));
            }
        }
        // But for the links, which are worth nothing there.
        let plain = |text: &str| without_tokens(&text.replace("\r\n", "\n"));
        if let Some(preview) = &golden.previewed
            && (preview["headline"] != golden.headline.as_str()
                || preview["text"].as_str().map(plain) != Some(plain(&golden.text)))
        {
            wrong.push(format!("{}: it was shown otherwise: {preview}", golden.name));
        }
        let unsubscribe = "https://mail.gallery.example/u/";
        if !text.contains(unsubscribe) || !html.contains(unsubscribe) || golden.headline.is_empty() {
            wrong.push(format!("{}: no way to end it, or no headline: {:?}", golden.name, golden.headline));
        }
    }
    Ok(wrong)
}

/// A text without the tokens of its links.
fn without_tokens(text: &str) -> String {
    let mut pieces = text.split("/u/");
    let first = pieces.next().unwrap_or_default().to_owned();
    let end =
        |piece: &str| piece.find(|c: char| c.is_whitespace() || "/?".contains(c)).unwrap_or(piece.len());
    pieces.fold(first, |kept, piece| kept + "/u/" + &piece[end(piece)..])
}

/// What is wrong with how one mail looks, whose pictures are so wide at least.
fn check_look(look: &PageLook, wide: i64) -> Vec<String> {
    let mut wrong = Vec::new();
    let PageLook { name, width, scheme, .. } = look;
    let mut is = |what: String| wrong.push(format!("{name}, {width} px, {scheme}: {what}"));
    if look.overflow > 0 {
        is(format!("{} px too wide", look.overflow));
    }
    // Where each `<style>` is dropped it is day also at night.
    let by_night = scheme == "dark" && !name.ends_with(".bare");
    if by_night != (look.ground < 0.2) {
        is(format!("its ground is {} light", look.ground));
    }
    if look.texts.len() < 8 {
        is(format!("only {} texts are seen", look.texts.len()));
    }
    for text in look.texts.iter().filter(|text| text.contrast < CONTRAST_MIN) {
        is(format!("`{}` has a contrast of {}", text.text, text.contrast));
    }
    for link in &look.links {
        if !link.as_ref().is_some_and(|link| link.starts_with("https://")) {
            is(format!("a link to {link:?}"));
        }
    }
    for image in &look.images {
        let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        if !has(&image.alt) || !has(&image.width) || image.wide < wide {
            is(format!("{image:?}"));
        }
    }
    let has_pictures = look.images.is_empty() == name.starts_with("plain");
    if !has_pictures || !look.strange.is_empty() || look.preview.is_empty() {
        is(format!("{} images, strange {:?}, preview `{}`", look.images.len(), look.strange, look.preview));
    }
    if look.schemes != ["light dark", "light dark"] {
        is(format!("schemes {:?}", look.schemes));
    }
    wrong
}

/// By day, on a desk, each text is as it is where each `<style>` is dropped: its own look stands in its element.
fn check_inlined(looks: &[PageLook]) -> Vec<String> {
    let by_day = |look: &&PageLook| look.scheme == "light" && look.width == WIDTHS[1];
    let find = |name: &str| looks.iter().filter(by_day).find(|look| look.name == name);
    let mut wrong = Vec::new();
    for look in looks.iter().filter(by_day).filter(|look| !look.name.ends_with(".bare")) {
        let Some(bare) = find(&format!("{}.bare", look.name)) else {
            wrong.push(format!("{} was not seen without styles", look.name));
            continue;
        };
        let pairs = look.texts.iter().zip(&bare.texts);
        let other =
            pairs.filter(|(with, without)| (&with.text, &with.look) != (&without.text, &without.look));
        wrong.extend(
            other.map(|(with, without)| format!("{}: {with:?} is {without:?} without styles", look.name)),
        );
        if look.texts.len() != bare.texts.len() {
            wrong.push(format!(
                "{}: {} texts, {} without styles",
                look.name,
                look.texts.len(),
                bare.texts.len()
            ));
        }
    }
    wrong
}
