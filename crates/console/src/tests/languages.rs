//! The pages behind the links of mails in the reader's language, with their errors.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use catalogue::{Catalogue, ReaderLanguage};
use model::{Day, Person, Tenant, Value, VersionedState, person::profile};
use store::StateKey;

use crate::error_page;

use super::{HouseDoor, choices_catalogue, door_of, unsubscribe::link, unsubscribe::link_of};

const BROWSER: (&str, &str) = ("accept", "text/html");

async fn door() -> HouseDoor {
    let mut catalogue = Catalogue::clone(&choices_catalogue());
    catalogue.languages = ["en", "de", "ja", "ar"].map(|tag| ReaderLanguage::new(tag).unwrap()).into();
    door_of(Arc::new(catalogue), true, false).await
}

impl HouseDoor {
    async fn state_language(&self, person: &str, language: &str) {
        let key = StateKey::Person(Tenant::new("main").unwrap(), Person::new(person).unwrap());
        let state = VersionedState::from_values(1, [(profile::LANGUAGE, Some(Value::from_text(language)))]);
        self.app.house.engines().store.merge(vec![(key, state)]).await.unwrap();
    }

    async fn get_in(&self, path: &str, accepted: &str) -> (StatusCode, String) {
        let lines = [BROWSER, ("accept-language", accepted)];
        let answer = self.ask(Method::GET, path, &lines, "").await;
        (answer.status, answer.text)
    }
}

#[tokio::test]
async fn a_page_is_in_the_language_of_the_profile_else_of_the_browser() {
    let door = door().await;
    door.ground.add_person("ann", "maker:1").await;
    door.ground.add_person("ben", "maker:1").await;
    door.state_language("ben", "ja").await;
    let check = async |person: &str, accepted: &str, expected: &[&str]| {
        let day = Some(Day::from_instant(door.app.now()));
        let (status, text) = door.get_in(&link_of("main", person, day), accepted).await;
        assert_eq!(status, StatusCode::OK);
        expected.iter().for_each(|has| assert!(text.contains(has), "{person} {accepted}: {has} in {text}"));
    };
    check("ann", "", &["<html lang=\"en\">", "No more mail from Shop?", "How often"]).await;
    check("ann", "pt", &["<html lang=\"en\">"]).await;
    check(
        "ann",
        "de-AT, en;q=0.5",
        &["<html lang=\"de\">", "Keine Mails mehr von Shop?", "Wie oft", "Stattdessen"],
    )
    .await;
    check("ann", "ar", &["<html lang=\"ar\" dir=\"rtl\">", "\u{2068}Shop\u{2069}"]).await;
    check("ben", "de", &["<html lang=\"ja\">", "Shopからのメールを停止しますか？"]).await;
    // What somebody subscribed to stands between isolates of its own, whichever way the page runs.
    let key = StateKey::Preferences(Tenant::new("main").unwrap(), Person::new("ann").unwrap());
    let chosen = VersionedState::from_values(1, [("subject item:1", Some(Value::from_text("on")))]);
    door.app.house.engines().store.merge(vec![(key, chosen)]).await.unwrap();
    let link_of_ann = link_of("main", "ann", Some(Day::from_instant(door.app.now())));
    let (_, text) = door.get_in(&format!("{link_of_ann}/settings"), "ar").await;
    for has in [
        "dir=\"rtl\"",
        "اشتراكاتك",
        "<bdi>item 1</bdi>",
        "إلغاء الاشتراك: \u{2068}item 1\u{2069}",
        "\u{2068}English\u{2069}",
    ] {
        assert!(text.contains(has), "{has} in {text}");
    }
    let done = door.press(&link("main", "ben"), "do=off").await;
    assert!(done.text.contains("完了しました：Shopからのメールを停止しました"), "{}", done.text);
}

#[tokio::test]
async fn an_error_is_in_it_too() {
    let door = door().await;
    door.state_language("ben", "ja").await;
    let check = async |path: &str, accepted: &str, expected: [&str; 2]| {
        let (status, text) = door.get_in(path, accepted).await;
        assert!(!status.is_success());
        expected.iter().for_each(|has| assert!(text.contains(has), "{path} {accepted}: {has} in {text}"));
    };
    let missing =
        ["Page not found", "This link is incomplete; open it again from the mail, or copy all of it."];
    check("/u/x", "", missing).await;
    for part in ["/u", "/u/", "/u/x", "/u/x/", "/u/x/y", "/u/x/y/z"] {
        check(part, "de", ["Seite nicht gefunden", "Dieser Link ist unvollständig"]).await;
    }
    let beyond = format!("{}/more", link("main", "ben"));
    check(&beyond, "de", ["<html lang=\"ja\">", "ページが見つかりません"]).await;
    let old = format!("{}/rest", link("main", "ben"));
    check(&old, "de", ["許可されていません", "このメールは古いため、新しい内容を表示できません"]).await;
    // Programs read English.
    let answer = door.ask(Method::GET, "/u/x", &[("accept-language", "de")], "").await;
    assert!(answer.text.contains("this link is incomplete"), "{}", answer.text);
}

/// What the pages may answer, as the sentences of the house have it.
#[test]
fn every_error_of_these_pages_has_its_sentence() {
    let german = ReaderLanguage::new("de").unwrap();
    for problem in crate::unsubscribe::PROBLEMS {
        let (title, text) = (error_page::title(problem.status()), error_page::sentence(&problem.detail));
        for english in [title, &text] {
            assert!(german.translate_house(english).is_some(), "{english}");
        }
    }
    for status in (400..600).filter_map(|status| StatusCode::from_u16(status).ok()) {
        let (title, text) =
            (error_page::title(status), error_page::sentence(error_page::default_text(status)));
        // Nobody needs a token for these, and an operator alone reads a log.
        if status != StatusCode::UNAUTHORIZED {
            assert!(german.translate_house(title).is_some(), "{title}");
        }
        if !status.is_server_error() {
            assert!(german.translate_house(&text).is_some(), "{text}");
        }
    }
}
