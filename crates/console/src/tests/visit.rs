//! Links that are counted, followed by readers, by robots and by strangers.

use model::UtcMillis;
use wire::visit::{LinkVisit, LinkVisitAction, sign_visit};

use super::*;

const BROWSER: (&str, &str) =
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0");
const ROBOT: (&str, &str) = ("user-agent", "curl/8.5.0");
const SHOP: &str = "https://shop.example/?a=1&b=%22";

fn link(path: &str, plan: &str, due: i64, what: LinkVisitAction) -> String {
    let (tenant, plan) = (Tenant::new("main").unwrap(), PlanName::new(plan).unwrap());
    let visit = LinkVisit { tenant, plan, due: UtcMillis(due), what };
    format!("/{path}/{}", sign_visit(&visit, &LinkSecret::new(SECRET)).unwrap())
}

impl HouseDoor {
    fn visit_counts(&self) -> String {
        let text = self.app.house.metrics().render_text();
        let own = text.lines().filter_map(|line| line.strip_prefix("tidings_visits_total"));
        own.collect::<Vec<_>>().join("\n")
    }
}

#[tokio::test]
async fn following_leads_on_and_is_counted_by_who_does_it() {
    let door = door(true, true).await;
    let due = door.app.now().0;
    let early = link("u/l", "daily", due, LinkVisitAction::Followed(SHOP.to_owned()));
    let later = link("u/l", "daily", due - 60_000, LinkVisitAction::Followed(SHOP.to_owned()));
    for (path, agent) in [(&later, BROWSER), (&later, BROWSER), (&later, ROBOT), (&early, BROWSER)] {
        let answer = door.ask(Method::GET, path, &[agent], "").await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::FOUND, ""));
        assert_eq!(answer.headers["location"], SHOP);
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert!(answer.headers.contains_key("content-security-policy"));
    }
    let opened = link("u/o", "daily", due, LinkVisitAction::Opened);
    let answer = door.ask(Method::GET, &opened, &[BROWSER], "").await;
    assert_eq!(
        (answer.status, &answer.headers["content-type"]),
        (StatusCode::OK, &"image/gif".parse().unwrap())
    );
    assert!(answer.text.starts_with("GIF89a"));
    let counted = door.visit_counts();
    for line in [
        "{plan=\"daily\",what=\"followed\",who=\"reader\"} 2",
        "{plan=\"daily\",what=\"followed\",who=\"robot\"} 2",
        "{plan=\"daily\",what=\"opened\",who=\"reader\"} 1",
    ] {
        assert!(counted.contains(line), "{counted}");
    }
}

#[tokio::test]
async fn nothing_leads_where_nobody_signed() {
    let door = door(true, true).await;
    let good = link("u/l", "daily", 0, LinkVisitAction::Followed(SHOP.to_owned()));
    let opened = link("u/o", "daily", 0, LinkVisitAction::Opened);
    let crossed = [opened.replace("/o/", "/l/"), good.replace("/l/", "/o/")];
    let strange = ["/u/l/x".to_owned(), "/u/l/%00".to_owned(), good[..good.len() - 1].to_owned()];
    for path in crossed.iter().chain(&strange) {
        let answer = door.ask(Method::GET, path, &[BROWSER], "").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(!answer.headers.contains_key("location"), "{path}");
    }
    assert_eq!(door.ask(Method::POST, &good, &[BROWSER], "").await.status, StatusCode::METHOD_NOT_ALLOWED);
    // A line break in an address ends no header.
    let broken =
        link("u/l", "daily", 0, LinkVisitAction::Followed("https://a.example/\r\nSet-Cookie: x".to_owned()));
    assert_eq!(door.ask(Method::GET, &broken, &[BROWSER], "").await.status, StatusCode::NOT_FOUND);
    // Names of plans that there are not are not kept.
    let gone = link("u/l", "gone", 0, LinkVisitAction::Followed(SHOP.to_owned()));
    assert_eq!(door.ask(Method::GET, &gone, &[BROWSER], "").await.status, StatusCode::FOUND);
    assert_eq!(door.visit_counts(), "");
}
