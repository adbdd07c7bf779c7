//! The slots of a mail that left, opened by its reader, and in the outbox.

use catalogue::Catalogue;
use house::testing::post_to_intake;
use wire::mail_slots::PATH;

use super::*;

const CATALOGUE: &str = "
catalogue: shop
subjects:
  item:  {picture: url, page: url}
  picks: {items: refs item}
  note:  {reader: person}
slots:
  chosen:
    {of: item, places: 2, image: picture, link: page, alt: Chosen for you, from: [{table: picks.items}],
     hosts: shop.example, instead: {image: 'https://shop.example/b.png', link: 'https://shop.example/'}}
kinds:
  told: {on: note.told, to: {person: reader}, says: A note, plans: [letter]}
plans:
  letter:
    {channel: email, close: at_once, look_back: 2d, headline: x, from: a@b.example, template: a.mjml, text: a.txt,
     slots: chosen, sections: [{title: Notes, kinds: [told], most: 9}]}
";

const MJML: &str = "<mjml><mj-body><mj-section><mj-column><mj-text>{% for s in sections %}{{ s.title }}{% endfor %}</mj-text>{% set s = slot(1) %}<mj-image src=\"{{ s.image }}\" href=\"{{ s.link }}\" alt=\"{{ s.alt }}\" /></mj-column></mj-section></mj-body></mjml>";
const TEXT: &str =
    "{% for s in sections %}{{ s.title }}{% endfor %} {% for s in slots %}{{ s.link }} {% endfor %}";

fn slots_catalogue() -> Arc<Catalogue> {
    let read = |name: &str| Ok(if name == "a.mjml" { MJML } else { TEXT }.to_owned());
    Arc::new(
        Catalogue::parse(CATALOGUE, "catalogue.yaml", &read).unwrap_or_else(|problems| panic!("{problems}")),
    )
}

#[tokio::test]
async fn a_slot_shows_what_is_for_whose_mail_it_is() {
    let door = door_of(slots_catalogue(), true, false).await;
    door.ground.add_person("ann", "item:9").await;
    let change = |id: &str, of: &str, data: serde_json::Value| {
        let mut change = serde_json::json!({"id": id, "source": "t", "type": format!("{}.changed", of.split_once(':').unwrap().0), "subject": of});
        change.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
        change
    };
    let picture = "https://shop.example/1.png?a&b";
    post_to_intake(
        &door.ground.intake,
        "/v1/changes",
        &serde_json::json!([
            change("1", "item:1", serde_json::json!({"picture": picture, "page": "https://shop.example/1"})),
            change("2", "picks:ann", serde_json::json!({"items": ["item:1"]})),
        ]),
    )
    .await;
    post_to_intake(
        &door.ground.intake,
        "/v1/changes",
        &serde_json::json!(
            {"id": "3", "source": "t", "type": "note.told", "subject": "note:1", "reader": "ann"}
        ),
    )
    .await;
    door.ground.house.settle().await.unwrap();
    let id = door.ground.outbox.list_newest(1)[0].message_id.clone();
    let mail = door.ground.outbox.read_mail(&id).await.unwrap().unwrap();
    let before = format!("src=\"http://127.0.0.1:7280/{PATH}/");
    let address = mail.html.split(&before).nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(address.rsplit_once('/').unwrap().1, "1", "{address}");
    // The page of the outbox shows what a reader would see, and can load nothing.
    let shown = door.get(&format!("/outbox/html?id={id}")).await;
    assert!(shown.text.contains(" src=\"https://shop.example/1.png?a&amp;b\""), "{}", shown.text);
    // No session, no key, and any host: mails are opened anywhere.
    let lines = [("host", "mail.example.org"), ("user-agent", "Mozilla/5.0 (X11; Linux) Firefox/140.0")];
    for (path, leads) in [
        (format!("/{PATH}/{address}"), picture),
        (format!("/{PATH}/{address}/go"), "https://shop.example/1"),
        (format!("/{PATH}/{}/2", address.rsplit_once('/').unwrap().0), "https://shop.example/b.png"),
    ] {
        let answer = door.ask(Method::GET, &path, &lines, "").await;
        assert_eq!(
            (answer.status, answer.headers["location"].to_str().unwrap()),
            (StatusCode::FOUND, leads),
            "{path}"
        );
    }
    let strange = door.ask(Method::GET, &format!("/{PATH}/{}x/1", &address[..9]), &lines, "").await;
    assert_eq!(strange.status, StatusCode::NOT_FOUND, "{}", strange.text);
}
