//! The pages of a house in two real browsers, which press each button, form and field: one as on a phone, the other as on a
//! desk. The first presses each link too, and the second opens where it leads. Each looks at every page at the other's width too, and by day and by night. What a template can show and nobody
//! pressed is an error.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    thread,
};

use anyhow::{Context as _, Result, ensure};
use engines::node;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    house::{ExampleHouse, example_folder},
    judges::run_json,
};

/// A browser, the width at which it presses, the one at which it looks as well, and its scheme. Firefox keeps its scheme from
/// the start on; Chromium looks at each page in both.
const LOOKS: [BrowserScreens; 2] = [
    BrowserScreens { browser: "chromium", width: 390, other_width: 1200, scheme: "light", has_canary: false },
    BrowserScreens { browser: "firefox", width: 1200, other_width: 390, scheme: "dark", has_canary: true },
];
/// What people can press, as templates write it.
const CONTROLS: [&str; 5] = ["a", "button", "input", "select", "textarea"];
/// Templates that are of no house that runs, or hold nothing to press.
const ELSEWHERE: [&str; 2] = ["waiting.html", "inbox.html"];

/// How a browser is used.
#[derive(Clone, Copy)]
struct BrowserScreens {
    browser: &'static str,
    width: u32,
    other_width: u32,
    scheme: &'static str,
    /// Whether its house has a second catalogue on trial.
    has_canary: bool,
}

/// What a browser found.
#[derive(Deserialize)]
struct PressReport {
    wrong: Vec<String>,
    controls: Vec<PageControl>,
    pages: usize,
}

#[derive(Deserialize)]
struct PageControl {
    opening: String,
    #[serde(rename = "isPressed")]
    is_pressed: bool,
}

/// All controls that were seen, with whether somebody pressed them.
#[derive(Default)]
struct ControlCoverage(BTreeMap<String, bool>);

impl ControlCoverage {
    fn add(&mut self, pressed: PressReport) {
        for PageControl { opening, is_pressed } in pressed.controls {
            *self.0.entry(normalise_tag(&opening)).or_default() |= is_pressed;
        }
    }
}

fn press_pages(asked: &Value) -> Result<PressReport> {
    let pictures = std::env::var_os("TIDINGS_PICTURES").map(|folder| folder.to_string_lossy().into_owned());
    let mut asked = asked.clone();
    asked["pictures"] = json!(pictures);
    run_json(node("press.cjs")?.arg(asked.to_string()))
}

/// A house in which there is something of everything: mails that were sent, windows, a mute, subscriptions, a record that cannot
/// be read; and half of the persons have a canary, if that is asked for.
fn start_house(has_canary: bool) -> Result<ExampleHouse> {
    let canary = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogues/gallery-six");
    let settings = [("TIDINGS_CANARY_CATALOGUE", canary), ("TIDINGS_CANARY_SHARE", "50%")];
    let settings = if has_canary { &settings[..] } else { &[] };
    let house = ExampleHouse::start_as(&example_folder("gallery"), settings, &["--demo"])?;
    house.wait_begun("ann")?;
    house.say("/v1/changes", &busy_day())?;
    house.say("/v1/facts", &subscriptions())?;
    house.post_json("/admin/upstream", &json!("no event"))?;
    house.settle()?;
    Ok(house)
}

/// More in one day than a page lists, for somebody who is asked about nothing else.
fn busy_day() -> Vec<Value> {
    let suggested = |number: usize| {
        json!({"id": format!("ida-{number}"), "source": "gallery", "type": "artwork.suggested", "persons": ["ida"],
            "subject": format!("artwork:9{number:03}"), "title": format!("Sketch {number}"), "artist": "artist:1", "published": true})
    };
    (0..60).map(suggested).collect()
}

/// Two of everybody who may get a mail, since nobody knows yet whose link is opened: one that the page of settings ends, and one
/// that a walk ends and takes back. Nothing happens to what they are about.
fn subscriptions() -> Vec<Value> {
    let subscribed = |(person, number): (&str, usize)| {
        json!({"id": format!("{person}-{number}"), "source": "gallery", "type": "tidings.preference",
            "data": {"person": person, "choice": "on", "subject": format!("artwork:800{number}")}})
    };
    let persons = ["ann", "ben", "chika", "dora", "ida"];
    persons.into_iter().flat_map(|person| [(person, 1), (person, 2)]).map(subscribed).collect()
}

#[test]
fn every_control_of_every_page_is_pressed() {
    let found: Vec<PressReport> = thread::scope(|scope| {
        let press = |look: BrowserScreens| {
            scope.spawn(move || {
                let house = start_house(look.has_canary).unwrap();
                assert_eq!(house.page("/told").unwrap().contains("Canary: "), look.has_canary);
                press_pages(&press_query(&house, look).unwrap()).unwrap()
            })
        };
        LOOKS.map(press).into_iter().map(|browser| browser.join().unwrap()).collect()
    });
    let mut seen = ControlCoverage::default();
    let mut wrong = Vec::new();
    for mut found in found {
        assert!(found.pages > 12, "only {} pages", found.pages);
        wrong.append(&mut found.wrong);
        seen.add(found);
    }
    wrong.extend(find_unpressed(&seen).unwrap());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn press_query(house: &ExampleHouse, look: BrowserScreens) -> Result<Value> {
    let BrowserScreens { browser, width, other_width, scheme, .. } = look;
    let [before, walks] = unsubscribe_doors(house)?;
    let settings = walks[0]["path"].as_str().context("a path")?.replace("?", "/settings?");
    let settings = settings.split('?').next().unwrap_or_default().to_owned();
    let starts = [
        "/",
        &*settings,
        "/person?id=ann",
        "/person?id=chika",
        "/person?id=ida",
        "/preview?person=ann&kind=artwork_published",
        "/preview?person=ann",
        "/publish?event=artwork.suggested",
        "/publish?event=artwork.published",
        "/told",
        "/push?person=ann",
        "/bell?person=ann",
        "/clock",
    ];
    // What is wrong stands beside its field.
    let slips = json!([
        {"path": "/publish?event=show.announced", "problems": ["field.opens", "field.place"],
         "fields": {"field.opens": "soon", "field.place": "here"}},
        {"path": "/publish?event=artwork.published", "problems": ["subject"], "fields": {"subject": "nonsense"}},
        {"path": "/person", "problems": ["id"], "fields": {"id": "x".repeat(200)}},
        {"path": "/preview", "problems": ["person"], "fields": {"person": "nobody-at-all"}},
        // As a browser takes a date.
        {"path": settings, "problems": ["pause"], "fields": {"pause": "01012020"}, "button": "button[value=save]"},
    ]);
    let faces = json!([
        ["/nowhere", 404, "Page not found"],
        ["/person/windows", 405, "Not possible here"],
        ["/person/why?id=ann&entry=nonsense", 400, "No explanation"],
        ["/outbox/mail", 400, "This request cannot be handled"],
        ["/told?days=1000", 400, "Choose 1, 7 or 21 days"],
    ]);
    Ok(json!({
        "url": house.address, "browser": browser, "width": width, "other_width": other_width, "scheme": scheme,
        "starts": starts, "before": before, "walks": walks, "slips": slips, "faces": faces, "scripted": ["what=begin", "what=end"],
    }))
}

/// The pages behind the link of a mail with more than it had room for: what waits, before the clock is moved; then another plan
/// and back, a subscription ended and taken back, less of somebody and back, there and among all settings, none at all, on again,
/// and off once more.
fn unsubscribe_doors(house: &ExampleHouse) -> Result<[Vec<Value>; 2]> {
    let outbox = house.page("/outbox")?;
    let mails = outbox.split("/outbox/mail?id=").skip(1).filter_map(|rest| rest.split('"').next());
    let mut token = None;
    for id in mails {
        let text = house.page(&format!("/outbox/mail?id={id}&show=text"))?.replace("&#x2f;", "/");
        token = text_between(&text, "/u/", "/rest")
            .map(|token| token.split("/u/").last().unwrap_or_default().to_owned());
        if token.is_some() {
            break;
        }
    }
    let token = token.context("no mail with a link to what waits")?;
    let link = format!("/u/{token}");
    let waits = json!({"path": format!("{link}/rest"), "buttons": ["a.door"], "outside": ["a.to"]});
    let (off, on) = ("button[value=off]", "button[value=on]");
    // The one that its reader does not have, whoever that is.
    let page = house.page(&link)?;
    let other = text_between(&page, "name=\"plan\" value=\"", "\"").context("no other plan to choose")?;
    let after = vec![
        json!({"path": format!("{link}?plan={other}"), "buttons": ["button[value=plan]:not(.second)", "button.second[value=plan]"]}),
        json!({"path": format!("{link}/settings"), "buttons": ["button[value=end]", "button[value=undo]"]}),
        json!({"path": format!("{link}?less=artist:1"), "buttons": ["button[value=less]", "a.door", "button[value=again]", "a.door"]}),
        json!({"path": format!("{link}?less=artist:1"), "buttons": ["button[value=less]", "button[value=more]", "button.second[value=off]", on]}),
        json!({"path": link, "buttons": [off, on, off]}),
    ];
    Ok([vec![waits], after])
}

pub fn text_between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(between, _)| between)
}

/// Controls of the templates that no page had, or that nobody pressed.
fn find_unpressed(seen: &ControlCoverage) -> Result<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/console/page");
    let mut wrong = Vec::new();
    let mut many = 0;
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a name")?.to_owned();
        if !name.ends_with(".html") || ELSEWHERE.contains(&&*name) {
            continue;
        }
        for control in template_controls(&fs::read_to_string(&path)?) {
            many += 1;
            let found = seen.0.iter().filter(|(opening, _)| tag_fits(&control, opening));
            match found.map(|(_, is_pressed)| *is_pressed).max() {
                None => wrong.push(format!("{name}: no page had {}", control.join("…"))),
                Some(false) => wrong.push(format!("{name}: nobody pressed {}", control.join("…"))),
                Some(true) => {}
            }
        }
    }
    ensure!(many > 30, "only {many} controls in the templates");
    Ok(wrong)
}

/// The opening tags of a template's controls, each as the parts between what is filled in.
fn template_controls(template: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for name in CONTROLS {
        for (at, _) in template.match_indices(&format!("<{name} ")) {
            let Some(end) = end_of_tag(&template[at..]) else { continue };
            let tag = &template[at..at + end];
            if !tag.contains("type=\"hidden\"") {
                found.push(certain_parts(tag));
            }
        }
    }
    found
}

/// Where a tag ends whose attributes may hold expressions.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            '>' if depth == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// What stands for certain: neither in an expression, nor between an `if` and its end.
fn certain_parts(tag: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut rest, mut within) = (tag, 0);
    while let Some(at) = rest.find("{%").into_iter().chain(rest.find("{{")).min() {
        if within == 0 {
            parts.last_mut().unwrap().push_str(&rest[..at]);
            parts.push(String::new());
        }
        let is_block = rest[at..].starts_with("{%");
        let Some(end) = rest[at..].find(if is_block { "%}" } else { "}}" }) else { break };
        let inside = rest[at + 2..at + end].trim();
        if is_block {
            within += i32::from(inside.starts_with("if ")) - i32::from(inside.starts_with("endif"));
        }
        rest = &rest[at + end + 2..];
    }
    parts.last_mut().unwrap().push_str(rest);
    parts.iter().map(|part| normalise_tag(part)).collect()
}

/// As a browser writes it down again, as far as it matters.
fn normalise_tag(text: &str) -> String {
    let text = text.replace(" required=\"\"", " required").replace("&amp;", "&").replace("&#x2f;", "/");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a tag has all parts in their order, the first at its beginning.
fn tag_fits(parts: &[String], opening: &str) -> bool {
    let mut rest = opening;
    for (index, part) in parts.iter().enumerate() {
        let part = part.trim();
        match rest.find(part) {
            Some(at) if index > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    true
}

#[test]
fn a_control_that_nobody_pressed_is_found() {
    let of = |tag: &str| certain_parts(tag);
    let check = |tag: &str, opening: &str, expect: bool| {
        assert_eq!(tag_fits(&of(tag), &normalise_tag(opening)), expect, "{tag} {opening}");
    };
    check("<a href=\"/x?id={{ id | urlencode }}\">", "<a href=\"/x?id=ann\">", true);
    check("<a href=\"/x\"{% if here %} aria-current=\"page\"{% endif %}>", "<a href=\"/x\">", true);
    check(
        "<a href=\"/x\"{% if here %} aria-current=\"page\"{% endif %}>",
        "<a href=\"/x\" aria-current=\"page\">",
        true,
    );
    check("<input id=\"a\" required>", "<input id=\"a\" required=\"\">", true);
    check("<button value=\"release\">", "<button value=\"cancel\">", false);
    assert_eq!(
        template_controls("<p><a href=\"{{ a > b }}\">x</a><input type=\"hidden\" name=\"csrf\"><b>").len(),
        1
    );
    let mut seen = ControlCoverage::default();
    seen.0.insert("<a href=\"/\">".to_owned(), true);
    let wrong = find_unpressed(&seen).unwrap();
    assert!(wrong.iter().any(|line| line.contains("no page had <button")), "{wrong:?}");
}

/// A page with a link that lies under something else on a phone, and is in sight on a desk.
const COVERED: &str = "<!doctype html><html lang='en'><head><title>t</title><meta name='viewport' content='width=device-width'>\
    <style>#over { position: fixed; inset: 0; } @media (min-width: 600px) { #over { display: none } }</style></head>\
    <body><main><h1>t</h1><a href='/'>home</a><div id='over'></div></main></body></html>";

#[test]
fn a_control_that_no_finger_hits_at_the_other_width_is_found() {
    let address = serve_page(COVERED).unwrap();
    let asked = json!({"url": address, "browser": "chromium", "width": 1200, "other_width": 390, "scheme": "light", "starts": ["/"]});
    let found = press_pages(&asked).unwrap();
    let covered = |line: &String| line.contains("at 390 px <a href=\"/\"> cannot be pressed");
    assert!(found.wrong.iter().any(covered) && found.controls.len() == 1, "{:?}", found.wrong);
}

/// Answers every request with one page, for as long as the tests run.
fn serve_page(page: &'static str) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer_with(stream, page).ok();
        }
    });
    Ok(address)
}

fn answer_with(mut stream: TcpStream, page: &str) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\ncontent-length";
    write!(stream, "{head}: {}\r\n\r\n{page}", page.len())
}
