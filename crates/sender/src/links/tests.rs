//! Links that are counted, and those that are left alone.

use model::{Channel, Person, PlanName, ReadyId, Tenant, UtcMillis};
use wire::token::SECRET_BYTES;

use super::*;

const BOTH: MailCounting = MailCounting { followed: true, opened: true };

fn links() -> MailLinks {
    MailLinks::new("https://news.example/", LinkSecret::new([7; SECRET_BYTES]))
}

fn ready() -> Ready {
    Ready {
        id: ReadyId([9; 16]),
        silent: false,
        tenant: Tenant::new("main").unwrap(),
        person: Person::new("ann").unwrap(),
        plan: PlanName::new("daily").unwrap(),
        key: "".into(),
        opening: UtcMillis(1),
        channel: Channel::Email,
        attempt: 0,
        due: UtcMillis(2),
        expires: UtcMillis(3),
        entries: vec![],
        more: vec![],
        badge: false,
        renews: None,
    }
}

fn count_links(html: &str, counts: MailCounting) -> String {
    links().with_counted_links(html.to_owned(), &ready(), counts).unwrap()
}

/// What follows a path of the house up to the next quote.
fn read_visits(html: &str, path: &str) -> Vec<LinkVisit> {
    let prefix = format!("\"https://news.example/{path}/");
    let texts = html.split(&prefix).skip(1).map(|rest| rest.split('"').next().unwrap());
    texts.map(|text| visit::read_visit(text, links().secret()).unwrap()).collect()
}

#[test]
fn links_lead_by_the_house_and_on_to_where_they_led() {
    let check = |address: &str, expected: &str| {
        let html = count_links(&format!("<p><a class=\"x\" href=\"{address}\">go</a></p>"), BOTH);
        let [LinkVisit { what: LinkVisitAction::Followed(led), tenant, plan, due }] =
            &read_visits(&html, FOLLOWED)[..]
        else {
            panic!("{html}")
        };
        assert_eq!(led, expected, "{html}");
        assert_eq!((tenant.as_str(), plan.as_str(), *due), ("main", "daily", UtcMillis(2)));
        assert!(
            html.contains(">go</a></p>") && html.contains("class=\"x\"") && !html.contains("ann"),
            "{html}"
        );
    };
    check("https://shop.example/", "https://shop.example/");
    check("https://shop.example/?a=1&amp;b=2#c", "https://shop.example/?a=1&b=2#c");
    check("https://shop.example/?q=&quot;ü&quot;&#x27;", "https://shop.example/?q=\"ü\"'");
    check("http:&#x2f;&#x2f;shop.example", "http://shop.example");
}

#[test]
fn what_leads_nowhere_else_is_left_alone() {
    let check = |html: &str, counts: MailCounting| assert_eq!(count_links(html, counts), html);
    for address in [
        "https://news.example/u/token",
        "mailto:ann@mail.example",
        "#top",
        "javascript:alert(1)",
        "data:text/html,x",
        "//shop.example",
        "",
    ] {
        check(&format!("<a href=\"{address}\">x</a>"), BOTH);
    }
    check("<a name=\"x\">x</a><img src=\"https://shop.example/a.png\">", BOTH);
    check("<body><a href=\"https://shop.example\">x</a></body>", MailCounting::default());
    let long = format!("<a href=\"https://shop.example/{}\">x</a>", "a".repeat(visit::ADDRESS_CHARS_MAX));
    check(&long, BOTH);
}

#[test]
fn a_picture_says_that_a_mail_was_opened() {
    let html = "<html><body><p>x</p></body></html>";
    let with = count_links(html, MailCounting { followed: false, opened: true });
    assert!(
        matches!(&read_visits(&with, OPENED)[..], [LinkVisit { what: LinkVisitAction::Opened, .. }]),
        "{with}"
    );
    assert!(with.contains("alt=\"\"") && with.ends_with("/></body></html>"), "{with}");
    assert_eq!(count_links(html, MailCounting { followed: true, opened: false }), html);
}

#[test]
fn from_the_same_mail_the_same_links_and_not_without_end() {
    let html = "<a href=\"https://shop.example\">x</a>".repeat(COUNTED_MAX + 5);
    let one = count_links(&html, BOTH);
    assert_eq!(one, count_links(&html, BOTH));
    assert_eq!(read_visits(&one, FOLLOWED).len(), COUNTED_MAX);
}
