//! The room whole, over the embedded store: several processes, each with a board of its own, asked as mails ask. Who looks on
//! remembers all that was shown: no mail shows a thing twice, none shows parts of two lists, and a picture and the link behind it
//! agree.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode, header},
};
use catalogue::Catalogue;
use futures::future::join_all;
use model::{
    PlanName, ReadyId, UtcMillis, Value, ValueCell, VersionedState,
    returns::{AddressHash, Slip},
};
use room::testing::{RoomEngines, parse_catalogue, parse_instant, person, subject, tenant};
use runtime::metrics::Metrics;
use store::{
    SlipStore as _, StateKey, StateStore as _, Store,
    rough_store::{RoughStore, StoreRoughness},
};
use tower::ServiceExt as _;
use wire::{
    mail_slots::{MailSlots, sign_slots},
    token::LinkSecret,
};

use crate::{Deps, metrics::SlotMetrics, read::AskedPlace, router};

const CATALOGUE: &str = "
catalogue: shop
subjects:
  product: {name: text, brand: text, picture: url, page: url, in_stock: flag, maker: ref brand}
  brand: {name: text, closed: flag}
  picks: {items: refs product}
  shelf: {items: refs product}
slots:
  products:
    of: product
    places: 4
    image: picture
    link: page
    alt: Picked for you
    while: subject.in_stock
    from:
      - {table: picks.items, share: 2}
      - {table: shelf.items, row: newest}
    hosts: [shop.example, '*.cdn.example']
    instead: {image: 'https://shop.example/banner.png', link: 'https://shop.example/all'}
kinds:
  linked: {on: product.linked, to: listed, says: x, plans: [weekly]}
plans:
  weekly:
    channel: email
    close: at_once
    look_back: 3d
    headline: x
    from: a@b.example
    template: mail.mjml
    text: mail.txt
    slots: products
    sections: [{title: x, kinds: [linked], most: 9}]
";

const BANNER: &str = "https://shop.example/banner.png";
const ALL: &str = "https://shop.example/all";
const READER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const PROXY: &str = "Mozilla/5.0";
const ROBOT: &str = "Barracuda Sentinel (EE)";
const PLACES: usize = 4;
const HOUR_MS: i64 = 3_600_000;

/// A shop, a mail of Ann's, and processes that show its slots.
struct SlotScene {
    engines: RoomEngines,
    processes: Vec<Router>,
    /// Versions of what is said.
    said: i64,
}

impl SlotScene {
    async fn open(processes: usize) -> Self {
        Self::open_over(processes, |_, store| store).await
    }

    /// With a store of its own around the one of all, for each process.
    async fn open_over(processes: usize, around: impl Fn(usize, Arc<dyn Store>) -> Arc<dyn Store>) -> Self {
        let engines = RoomEngines::open(parse_instant("2026-11-24T09:00:00Z")).await;
        let deps = |number: usize| {
            let room = engines.deps(catalogue());
            let room = room::Deps { store: around(number, engines.store.clone()), ..room };
            let metrics = SlotMetrics::declare(&Metrics::default()).unwrap();
            router(Deps { room, secret: secret(), board: Arc::default(), metrics })
        };
        let processes = (0..processes).map(deps).collect();
        let mut scene = Self { engines, processes, said: 0 };
        let slip = Slip {
            tenant: tenant(),
            person: person("ann"),
            plan: PlanName::new("weekly").unwrap(),
            stream: "general".into(),
            channel: model::Channel::Email,
            address: AddressHash([0; 16]),
            at: UtcMillis(scene.engines.clock.now()),
        };
        scene.engines.store.keep(READY, slip).await.unwrap();
        for number in 1..=9 {
            scene.stock(number, true).await;
        }
        scene.suggest("picks:ann", &[1, 2, 3]).await;
        scene.suggest("shelf:newest", &[3, 4, 5, 6]).await;
        scene
    }

    async fn merge(&mut self, name: &str, cells: Vec<(&str, Value)>) {
        self.said += 1;
        let mut state = VersionedState::default();
        for (field, value) in cells {
            state.set(field, ValueCell { version: self.said, value: Some(value) });
        }
        self.engines.store.merge(vec![(StateKey::Subject(tenant(), subject(name)), state)]).await.unwrap();
    }

    async fn stock(&mut self, number: usize, in_stock: bool) {
        let cells = vec![
            ("picture", Value::from_text(&image(number))),
            ("page", Value::from_text(&page(number))),
            ("in_stock", Value::Flag(in_stock)),
        ];
        self.merge(&format!("product:{number}"), cells).await;
    }

    async fn suggest(&mut self, row: &str, numbers: &[usize]) {
        let things = numbers.iter().map(|number| subject(&format!("product:{number}"))).collect();
        self.merge(row, vec![("items", Value::Refs(things))]).await;
    }

    fn wait(&self, ms: i64) {
        self.engines.clock.advance(ms);
    }

    /// Where a process leads whoever asks it for this.
    async fn ask(&self, process: usize, path: &str, agent: &str) -> (StatusCode, String, HeaderMap) {
        let request = Request::builder().method(Method::GET).uri(path).header(header::USER_AGENT, agent);
        let request = request.body(Body::empty()).unwrap();
        let response = self.processes[process].clone().oneshot(request).await.unwrap();
        let headers = response.headers().clone();
        let leads = headers.get(header::LOCATION).map(|to| to.to_str().unwrap().to_owned());
        (response.status(), leads.unwrap_or_default(), headers)
    }

    /// Somebody opens the mail: all of its pictures are asked for at once, each of another process.
    async fn open_mail(&self, agent: &str) -> Vec<String> {
        let count = self.processes.len();
        let path = |place: usize| format!("/s/{}/{place}", address());
        let asked = (1..=PLACES).map(|place| {
            let path = path(place);
            async move { self.ask(place % count, &path, agent).await }
        });
        let shown: Vec<_> =
            join_all(asked).await.into_iter().map(|(status, leads, _)| (status, leads)).collect();
        assert!(shown.iter().all(|(status, _)| *status == StatusCode::FOUND), "{shown:?}");
        let shown: Vec<String> = shown.into_iter().map(|(_, leads)| leads).collect();
        let things: Vec<&String> = shown.iter().filter(|leads| *leads != BANNER).collect();
        let distinct: std::collections::BTreeSet<_> = things.iter().collect();
        assert_eq!(distinct.len(), things.len(), "a thing twice: {shown:?}");
        shown
    }

    async fn click(&self, process: usize, place: usize) -> String {
        let (status, leads, _) = self.ask(process, &format!("/s/{}/{place}/go", address()), READER).await;
        assert_eq!(status, StatusCode::FOUND);
        leads
    }
}

const READY: ReadyId = ReadyId([7; 16]);

fn catalogue() -> Catalogue {
    parse_catalogue(CATALOGUE)
}

fn secret() -> LinkSecret {
    LinkSecret::new([3; 32])
}

fn address() -> String {
    sign_slots(&MailSlots { tenant: tenant(), ready: READY, list: "products".to_owned() }, &secret()).unwrap()
}

fn image(number: usize) -> String {
    format!("https://img.cdn.example/{number}.png")
}

fn page(number: usize) -> String {
    format!("https://shop.example/{number}")
}

fn images(numbers: &[usize]) -> Vec<String> {
    numbers.iter().map(|number| if *number == 0 { BANNER.to_owned() } else { image(*number) }).collect()
}

#[tokio::test]
async fn one_list_is_shown_by_all_processes_at_all_times() {
    let mut scene = SlotScene::open(3).await;
    let shown = scene.open_mail(READER).await;
    assert_eq!(shown, images(&[1, 2, 3, 4]));
    // Meanwhile everything is another way, and the list is as it was.
    scene.stock(1, false).await;
    scene.suggest("picks:ann", &[9, 8]).await;
    for _ in 0..5 {
        scene.wait(HOUR_MS / 2);
        assert_eq!(scene.open_mail(READER).await, shown);
    }
    // After its time what is gone is replaced, and what stays has its place.
    scene.wait(2 * HOUR_MS);
    assert_eq!(scene.open_mail(READER).await, images(&[9, 8, 3, 4]));
}

#[tokio::test]
async fn a_click_leads_to_what_was_shown() {
    let mut scene = SlotScene::open(3).await;
    // Before anybody opened it nothing was shown.
    assert_eq!(scene.click(0, 1).await, ALL);
    scene.open_mail(READER).await;
    scene.suggest("picks:ann", &[9, 8]).await;
    // Opened at nine and clicked in the evening.
    scene.wait(10 * HOUR_MS);
    for place in 1..=PLACES {
        assert_eq!(scene.click(place % 3, place).await, page(place));
    }
    // What is gone leads to the nearest thing that is not.
    scene.stock(2, false).await;
    assert_eq!(scene.click(1, 2).await, page(1));
    scene.stock(1, false).await;
    assert_eq!(scene.click(1, 2).await, page(3));
    for number in [3, 4] {
        scene.stock(number, false).await;
    }
    assert_eq!(scene.click(1, 2).await, ALL);
    assert_eq!(scene.click(1, 9).await, ALL);
}

#[tokio::test]
async fn programs_decide_nothing_for_readers() {
    let mut scene = SlotScene::open(3).await;
    for agent in [ROBOT, PROXY] {
        assert_eq!(scene.open_mail(agent).await, images(&[1, 2, 3, 4]));
    }
    scene.stock(1, false).await;
    scene.wait(5 * 60_000);
    // A reader sees what is true when they open it; what stays has the place at which a program has fetched it.
    assert_eq!(scene.open_mail(READER).await, images(&[5, 2, 3, 4]));
    assert_eq!(scene.open_mail(PROXY).await, images(&[1, 2, 3, 4]));
    assert_eq!(scene.click(0, 1).await, page(5));
}

#[tokio::test]
async fn who_never_looks_clicks_on_what_their_proxy_has_shown() {
    let mut scene = SlotScene::open(2).await;
    scene.suggest("picks:ann", &[6, 5]).await;
    assert_eq!(scene.open_mail(PROXY).await, images(&[6, 5, 3, 4]));
    scene.suggest("picks:ann", &[1, 2]).await;
    scene.wait(4 * HOUR_MS);
    assert_eq!(scene.click(0, 1).await, page(6));
}

#[tokio::test]
async fn what_is_shown_is_allowed_and_there() {
    let mut scene = SlotScene::open(1).await;
    let cells = |field, address: &str| vec![(field, Value::from_text(address))];
    scene.merge("product:1", cells("picture", "https://evil.example/1.png")).await;
    scene.merge("product:2", cells("page", "javascript:alert(1)")).await;
    scene.merge("product:3", vec![(model::world::DELETED, Value::Flag(true))]).await;
    assert_eq!(scene.open_mail(READER).await, images(&[4, 5, 6, 0]));
    assert_eq!(scene.click(0, 4).await, ALL);
}

#[tokio::test]
async fn who_is_not_known_is_shown_what_is_for_everybody() {
    let mut scene = SlotScene::open(1).await;
    scene.wait(41 * 24 * HOUR_MS);
    for number in 3..=6 {
        scene.stock(number, true).await;
    }
    assert_eq!(scene.open_mail(READER).await, images(&[3, 4, 5, 6]));
}

#[tokio::test]
async fn an_answer_is_kept_by_nobody_in_between() {
    let scene = SlotScene::open(1).await;
    let address = address();
    for path in [format!("/s/{address}/1"), format!("/s/{address}/1/go")] {
        let (_, _, headers) = scene.ask(0, &path, READER).await;
        let kept = headers[header::CACHE_CONTROL].to_str().unwrap();
        assert!(kept.contains("no-store") && kept.contains("max-age=0"), "{kept}");
        assert_eq!(headers["x-robots-tag"], "noindex, nofollow");
        assert_eq!(headers[header::REFERRER_POLICY], "no-referrer");
    }
}

#[tokio::test]
async fn what_we_did_not_sign_is_unknown() {
    let scene = SlotScene::open(1).await;
    let good = address();
    let other = |list: &str, secret: u8| {
        let slots = MailSlots { tenant: tenant(), ready: READY, list: list.to_owned() };
        sign_slots(&slots, &LinkSecret::new([secret; 32])).unwrap()
    };
    let (forged, gone) = (other("products", 4), other("gone", 3));
    let long = "A".repeat(10_000);
    for path in [
        format!("/s/{forged}/1"),
        format!("/s/{gone}/1"),
        format!("/s/{}/1", &good[1..]),
        format!("/s/{good}/0"),
        format!("/s/{good}/01"),
        format!("/s/{good}/-1"),
        format!("/s/{good}/+1"),
        format!("/s/{good}/x"),
        format!("/s/{good}/99999999999999999999999"),
        format!("/s/{long}/1"),
        format!("/s/{forged}/1/go"),
        format!("/s/{good}/%2e%2e/go"),
    ] {
        let (status, leads, _) = scene.ask(0, &path, READER).await;
        assert_eq!((status, leads.as_str()), (StatusCode::NOT_FOUND, ""), "{path}");
    }
    assert_eq!(AskedPlace::parse(&good, "4", &secret()).map(|asked| asked.place), Some(4));
}

/// Each process has a store that fails, tells late, or does what it says it did not do. A mail may then show what stands instead;
/// never a thing twice, two lists, or a link that leads elsewhere than its picture.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rough_store_shows_no_mail_two_lists() {
    let (mut filled, mut banners) = (0, 0);
    for seed in 0..60 {
        let rough = |number: usize, store| -> Arc<dyn Store> {
            Arc::new(RoughStore::new(store, StoreRoughness::from_seed(seed * 10 + number as u64)))
        };
        let mut scene = SlotScene::open_over(3, rough).await;
        let mut by_place: BTreeMap<usize, String> = BTreeMap::new();
        for opening in 0..6 {
            scene.suggest("picks:ann", &[1 + opening, 9 - opening]).await;
            for (place, leads) in (1..).zip(scene.open_mail(READER).await) {
                if leads == BANNER {
                    banners += 1;
                    continue;
                }
                filled += 1;
                assert_eq!(
                    by_place.entry(place).or_insert_with(|| leads.clone()),
                    &leads,
                    "two lists, seed {seed}"
                );
            }
            scene.wait(60_000);
        }
        for (place, image) in by_place {
            let clicked = scene.click(place % 3, place).await;
            let agrees = image.replace("img.cdn.example", "shop.example").replace(".png", "") == clicked;
            assert!(agrees || clicked == ALL, "{image} leads to {clicked}, seed {seed}");
        }
    }
    assert!(filled > banners && banners > 0, "{filled} things and {banners} banners");
}
