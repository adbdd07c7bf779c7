//! The bell, the page, the mark and the push say one number, whatever a person did and whatever came.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{HouseDoor, badge_catalogue, door_of};

/// Lives that are tried, and what happens in each.
const LIVES: u64 = 6;
const STEPS: usize = 30;

/// Draws numbers, the same for the same seed.
struct StepDice(u64);

impl StepDice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// A person with a phone and a bell.
struct BellLife {
    door: HouseDoor,
    dice: StepDice,
    items: usize,
    /// Messages that were looked at, and how many numbers they had.
    looked_at: BTreeSet<String>,
    numbers: usize,
}

impl BellLife {
    async fn begin(seed: u64) -> Self {
        let door = door_of(badge_catalogue(), true, false).await;
        door.ground.add_person("ann", "maker:1").await;
        door.ground.add_person("ann", "maker:2").await;
        let device = json!({"id": "d", "source": "t", "type": "tidings.device",
            "data": {"person": "ann", "device": "phone", "platform": "ios", "token": "secret"}});
        let told = door.ask_admin(Method::POST, "/admin/v1/facts", &device.to_string()).await;
        assert_eq!(told.status, StatusCode::ACCEPTED, "{}", told.text);
        door.ground.house.settle().await.unwrap();
        Self { door, dice: StepDice(seed), items: 0, looked_at: BTreeSet::new(), numbers: 0 }
    }

    async fn step(&mut self) -> String {
        match self.dice.below(8) {
            0..=2 => {
                self.items += 1;
                let maker = format!("maker:{}", 1 + self.dice.below(2));
                self.door.ground.offer_item(&format!("item:{}", self.items), &maker, "Moon").await;
                format!("an item of {maker}")
            }
            3 => {
                self.pass_corrections().await;
                self.items += 1;
                let item = format!("item:{}", self.items);
                let change = json!({"id": format!("n{item}"), "source": "t", "type": "item.noted", "subject": item,
                    "data": {"title": "Sun", "maker": "maker:1"}});
                house::testing::post_to_intake(&self.door.ground.intake, "/v1/changes", &change).await;
                "what no push tells".to_owned()
            }
            4 if self.items > 0 => {
                self.pass_corrections().await;
                let item = format!("item:{}", 1 + self.dice.below(self.items));
                let change = json!({"id": format!("r{item}"), "source": "t", "type": "tidings.revoke", "data": {"subject": item}});
                house::testing::post_to_intake(&self.door.ground.intake, "/v1/changes", &change).await;
                format!("{item} is gone")
            }
            5 => {
                let to = ["due", "due", "hour", "day"][self.dice.below(4)];
                self.door.form("/clock", &format!("to={to}")).await;
                format!("to {to}")
            }
            _ => self.mark().await,
        }
    }

    /// What is owed of before is told: on a busy machine it would come in the middle of what no push tells at once.
    async fn pass_corrections(&mut self) {
        self.door.form("/clock", "to=due").await;
        self.door.ground.house.settle().await.unwrap();
        self.list_numbers().await;
    }

    /// Marks a bundle of the first page, or all of it.
    async fn mark(&mut self) -> String {
        let page = self.door.get("/v1/people/ann/feed").await.json();
        let bundles = page["bundles"].as_array().unwrap();
        if bundles.is_empty() {
            return "nothing to mark".to_owned();
        }
        let until = self.door.app.now().plus(3 * 3_600_000).to_string();
        let mut order = match self.dice.below(6) {
            0 => json!({"mark": "seen"}),
            1 => json!({"mark": "read"}),
            2 => json!({"mark": "unread"}),
            3 => json!({"mark": "cleared"}),
            4 => json!({"mark": "saved"}),
            _ => json!({"mark": "snoozed", "until": until}),
        };
        match self.dice.below(4) {
            0 => order["shown"] = page["shown"].clone(),
            _ => order["bundles"] = json!([bundles[self.dice.below(bundles.len())]["bundle"]]),
        }
        let lines = [("content-type", "application/json")];
        let answer = self.door.ask(Method::POST, "/v1/people/ann/marks", &lines, &order.to_string()).await;
        assert_eq!(answer.status, StatusCode::OK, "{order}: {}", answer.text);
        order.to_string()
    }

    /// The numbers that pushes told since they were looked at last, in no order.
    async fn list_numbers(&mut self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for mail in self.door.ground.outbox.list_newest(1_000) {
            if !self.looked_at.insert(mail.message_id.clone()) {
                continue;
            }
            let told = self.door.ground.outbox.read_mail(&mail.message_id).await.unwrap().unwrap();
            let told = String::from_utf8_lossy(&told.raw);
            if let Some((_, number)) = told.split_once("\"badge\": ") {
                let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
                numbers.push(digits.parse().unwrap());
            }
        }
        self.numbers += numbers.len();
        numbers
    }
}

fn find_new(counts: &Value) -> u64 {
    counts["new"]["number"].as_u64().unwrap()
}

#[tokio::test]
async fn bell_page_and_push_say_one_number() {
    let mut numbers = 0;
    for seed in 0..LIVES {
        let (mut life, mut story) = (BellLife::begin(seed).await, Vec::new());
        for _ in 0..STEPS {
            story.push(life.step().await);
            life.door.ground.house.settle().await.unwrap();
            let counts = find_new(&life.door.get("/v1/people/ann/counts").await.json());
            let page = life.door.get("/v1/people/ann/feed?limit=100").await.json();
            let is_new = |bundle: &&Value| bundle["new"] == json!(true);
            let listed = page["bundles"].as_array().unwrap().iter().filter(is_new).count();
            assert_eq!((find_new(&page["counts"]), listed as u64), (counts, counts), "{seed}: {story:?}");
            // Of several of one step the last one says it.
            let told = life.list_numbers().await;
            assert!(told.is_empty() || told.contains(&counts), "{seed}: {told:?}, not {counts}: {story:?}");
        }
        numbers += life.numbers;
    }
    assert!(numbers > 30, "only {numbers} pushes told a number");
}
