//! The messages of the parser as data, and the runner against a toy: a world of one rule, that whatever
//! was posted about a person who follows it is mailed at the next midnight.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use async_trait::async_trait;
use house_facts::pause::PauseScope;
use model::{Day, Person, PlanName, SubjectRef, Tenant, UtcMillis};
use runtime::Clock;
use serde_json::{Value, json};

use crate::{
    mail_visitor::MailVisitor,
    parse, parse_with,
    report::ScenarioNote,
    request, revocation, run,
    run::{ScenarioPace, run_at},
    scenario::{MailServerState, RestartMode, ScenarioAct, ScenarioReturn, ScenarioStep},
    world::{StageAnswer, StageEntry, StageFeed, StageMail, StageMailSection, StageWorld},
};

const HEAD: &str = "# it works\ncatalogue toy\n";

fn parse_messages(text: &str) -> String {
    match parse("a.txt", text) {
        Ok(_) => "fine".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

/// What is said of lines below a good head, without the head's own two lines.
fn check_messages(lines: &str, expected: &str) {
    assert_eq!(parse_messages(&format!("{HEAD}{lines}")), expected, "{lines}");
}

#[test]
fn a_message_has_place_caret_and_what_was_probably_meant() {
    check_messages(
        "mon 09:00  folow ann item:7",
        "a.txt:3:12: there is no verb `folow`
    3 | mon 09:00  folow ann item:7
      |            ^
      = did you mean `follow`?",
    );
    check_messages(
        "mon 09:00 expect mial ann",
        "a.txt:3:18: expected an outcome, not `mial`
    3 | mon 09:00 expect mial ann
      |                  ^
      = did you mean `mail`?",
    );
}

#[test]
fn words_of_a_feed_are_guessed() {
    check_messages(
        "expect feed ann frist 10 \"a\"",
        "a.txt:3:17: expected a bundle in quotes, not `frist`
    3 | expect feed ann frist 10 \"a\"
      |                 ^
      = did you mean `first`?",
    );
    check_messages(
        "expect count ann categry items new 1 unread 1",
        "a.txt:3:18: expected a count, not `categry`
    3 | expect count ann categry items new 1 unread 1
      |                  ^
      = did you mean `category`?",
    );
}

#[test]
fn names_and_marks_of_editors_are_understood() {
    check_messages(
        "clock Europe/Berln",
        "a.txt:3:7: there is no time zone `Europe/Berln`
    3 | clock Europe/Berln
      |       ^
      = did you mean `Europe/Berlin`?",
    );
    check_messages(
        "expect fate ann item:7 \"told, tolld\"",
        "a.txt:3:24: there is no fate `tolld`
    3 | expect fate ann item:7 \"told, tolld\"
      |                        ^
      = did you mean `told`?",
    );
    check_messages(
        "network 203.0.113.0 1,2",
        "a.txt:3:9: `203.0.113.0` is an address, not a network
    3 | network 203.0.113.0 1,2
      |         ^
      = write `203.0.113.0/32` for it alone, or how many bits its network has: 203.0.113.0/24",
    );
    assert_eq!(parse_messages(&format!("\u{feff}{HEAD}follow ann item:7")), "fine");
}

/// The first line of each message.
fn first_lines(text: &str) -> Vec<String> {
    let place = |line: &&str| line.starts_with("a.txt:") || line.starts_with("w.txt:");
    parse_messages(text).lines().filter(place).map(str::to_owned).collect()
}

#[test]
fn slips_of_networks_are_found() {
    let check = |line: &str, expected: &str| {
        assert_eq!(first_lines(&format!("{HEAD}{line}\n")), [expected], "{line}");
    };
    check("network", "a.txt:3:8: a network is missing");
    check("network here 1,2", "a.txt:3:9: `here` is not a network, such as 203.0.113.0/24 or 2001:db8::/32");
    check(
        "network 203.0.113.0/33 1,2",
        "a.txt:3:9: `203.0.113.0/33` is not a network, such as 203.0.113.0/24 or 2001:db8::/32",
    );
    check("network 203.0.113.0/24", "a.txt:3:23: a place is missing");
    check("network 203.0.113.0/24 91,2", "a.txt:3:24: `91,2` is not a place, such as 52.52,13.40");
    check("network 203.0.113.0 1,2", "a.txt:3:9: `203.0.113.0` is an address, not a network");
    check(
        "network 203.0.113.0/24 1,2\nnetwork 203.0.113.7/24 3,4",
        "a.txt:4:9: the network `203.0.113.7/24` is given twice",
    );
    let fine = format!("{HEAD}network 203.0.113.0/24 1,2\nnetwork 2001:db8::/32 3,4\n");
    assert_eq!(parse("a.txt", &fine).unwrap().networks.len(), 2);
}

#[test]
fn slips_of_pauses_are_found() {
    let check = |lines: &str, expected: &str| {
        assert_eq!(first_lines(&format!("{HEAD}{lines}")), [expected], "{lines}");
    };
    check("pause", "a.txt:3:6: plan:NAME, channel:NAME or tenant:NAME is missing");
    check("resume daily", "a.txt:3:8: `daily` is not plan:NAME, channel:NAME or tenant:NAME");
}

#[test]
fn slips_of_feeds_are_found() {
    let check = |lines: &str, expected: &str| {
        assert_eq!(first_lines(&format!("{HEAD}{lines}")), [expected], "{lines}");
    };
    check("expect feed ann", "a.txt:3:16: expected a bundle or `none` in quotes");
    check("expect feed ann item:7", "a.txt:3:17: expected a bundle in quotes, not `item:7`");
    check("expect feed ann \"a\" more", "a.txt:3:21: the line should end here");
    check("expect feed ann first", "a.txt:3:22: a number of bundles is missing");
    check("expect feed ann first ten \"a\"", "a.txt:3:23: `ten` is not a number of bundles");
    check("expect feed ann first 0 \"a\"", "a.txt:3:23: `0` is not a number from 1 to 100");
    check("expect feed ann first 101 \"a\"", "a.txt:3:23: `101` is not a number from 1 to 100");
    check("expect feed ann first 1 first", "a.txt:3:25: expected a bundle in quotes, not `first`");
    check("expect feed ann first 1 \"a\" less", "a.txt:3:29: expected `more`, not `less`");
    check("expect feed ann first 1 \"a\" more more", "a.txt:3:34: the line should end here");
    check("expect count ann unread 1", "a.txt:3:18: expected a count, not `unread`");
    check("expect count ann category", "a.txt:3:26: a category is missing");
    check("expect count ann category items unread 1", "a.txt:3:33: expected a count, not `unread`");
    check("expect count ann category items new 1", "a.txt:3:38: a count is missing");
}

#[test]
fn slips_are_found_where_they_are() {
    let check = |lines: &str, expected: &str| {
        assert_eq!(first_lines(&format!("{HEAD}{lines}")), [expected], "{lines}");
    };
    check("follow ann", "a.txt:3:11: a subject (`type:id`) is missing");
    check("follow ann item", "a.txt:3:12: `item` is not of the form type:id");
    check("follow ann item:7 yes", "a.txt:3:19: the line should end here");
    check("follow x=1 item:7", "a.txt:3:8: expected a person");
    check("person ann @id=7", "a.txt:3:12: `@id` cannot stand here");
    check("person ann zone", "a.txt:3:12: only fields are allowed here");
    check("person ann a=1 a=2", "a.txt:3:16: `a` is given twice");
    check("event item.out item:1 @ta=(mon 09:00)", "a.txt:3:23: an event has no `@ta`");
    check("event item.out item:1 @at=noon", "a.txt:3:23: `noon` is not an instant, such as `fri 18:00`");
    check("event item.out item:1 at=(moon 09:00)", "a.txt:3:23: `moon` is not a date, such as 2026-01-05");
    check("event item.out item:1 @via=pigeon", "a.txt:3:23: `pigeon` is not a route: use `http` or `topic`");
    check("event item.out item:1 @version=new", "a.txt:3:23: `new` is not a whole number");
    check("event item.out item:1 @persons=[ann ben=good]", "a.txt:3:23: `good` is not a score");
    check("event item.out item:1 @persons=[ann=]", "a.txt:3:23: `` is not a score");
    check("event item.out item:1 @persons=[ann=inf]", "a.txt:3:23: `inf` is not a score");
    check("event item.out item:1 @persons=[=1]", "a.txt:3:23: person is empty");
    check("event item.out item:1 @persons=", "a.txt:3:23: `@persons` lists persons, `ann` or `ann=0.93`");
    check("event item.out item:1 @subjects=[item]", "a.txt:3:23: `item` is not of the form type:id");
    check(
        "event item.out item:1 @subjects=[(mon 09:00)]",
        "a.txt:3:23: `@subjects` lists subjects, `type:id`",
    );
    check("event item.out item:1 @person=[ann]", "a.txt:3:23: an event has no `@person`");
    check("mute ann", "a.txt:3:9: the thing to mute is missing");
    check("mute ann item:7", "a.txt:3:10: expected the thing to mute, not `item:7`");
    check("mute ann thread item", "a.txt:3:17: `item` is not of the form type:id");
    check("unmute ann actor", "a.txt:3:17: a person is missing");
    check("release", "a.txt:3:8: a plan is missing");
    check("release daily", "a.txt:3:14: a person is missing");
    check("release daily all ann", "a.txt:3:19: the line should end here");
    check("discard daily", "a.txt:3:14: a person is missing");
    check("discard daily ann item:7", "a.txt:3:19: expected `key`, not `item:7`");
    check("discard daily ann key", "a.txt:3:22: a key is missing");
    check("archive mon", "a.txt:3:9: expected `before`, not `mon`");
    check("archive before noon", "a.txt:3:16: `noon` is not a date, such as 2026-01-05");
    check("expect why ann item:1", "a.txt:3:22: expected a part of the explanation in quotes");
    check("again", "a.txt:3:1: there is no event to repeat");
    check("upstream hex 0g", "a.txt:3:14: `0g` is not hexadecimal");
    check("upstream nothing", "a.txt:3:10: expected the lines for the topic in quotes");
    check("post changes '{}' expect 400", "a.txt:3:6: a path begins with `/`");
    check("post /v1/changes '{}' 400", "a.txt:3:23: expected `expect`, not `400`");
    check("mail off", "a.txt:3:6: expected a state of the mail server, not `off`");
    check("crash sender", "a.txt:3:7: expected `all`, not `sender`");
    check("expect", "a.txt:3:7: an outcome is missing");
    check("expect fate ann item:1 told", "a.txt:3:24: expected a fate or `none` in quotes");
    check("expect open ann one", "a.txt:3:17: `one` is not a number of windows");
    check("expect rejected \"x\"", "a.txt:3:1: there is nothing that could be rejected");
    check("mon 9:00 again", "a.txt:3:5: `9:00` is not a time of day, such as 09:30");
    check("tenant", "a.txt:3:7: a tenant is missing");
    check("mon", "a.txt:3:4: a time of day is missing");
    check("mon 09:00", "a.txt:3:10: a verb is missing");
    check("mon 09:00..09:30 follow ann item:7", "a.txt:3:18: only `expect` takes a span of time");
    check("tue 09:00 expect nothing\nmon 09:00 expect nothing", "a.txt:4:1: the time goes back");
    check("mon 09:30..09:00 expect nothing", "a.txt:3:1: the time goes back");
    check("follow ann item:7\nclock UTC", "a.txt:4:1: `clock` must stand in the head");
    check("expect fate ann item:7 \"tolld\"", "a.txt:3:24: there is no fate `tolld`");
    check("start 2026-01-05\nstart 2026-01-06", "a.txt:4:1: `start` is given twice");
    check("word go = ", "a.txt:3:10: the line of the word is missing");
    check("word = again", "a.txt:3:6: the word's name is missing");
    check("word go again", "a.txt:3:14: a ` = ` is missing");
    check("word again X = follow ann $X", "a.txt:3:6: `again` is taken already");
    check("word mon X = follow ann $X", "a.txt:3:6: `mon` is taken already");
    check("word go ITEM = follow ann $ITME", "a.txt:3:27: `$ITME` is not a parameter of the word");
    check("word go ITEM = follow ann $ITEM\ngo", "a.txt:4:1: `go` needs ITEM");
    check("word go ITEM = follow ann $ITEM\ngo item", "a.txt:4:1: `item` is not of the form type:id");
    check("event item.out \"item:1", "a.txt:3:16: this `\"` is never closed");
}

#[test]
fn dates_that_no_house_sees_are_refused() {
    let check = |lines: &str, expected: &str| {
        assert_eq!(first_lines(&format!("{HEAD}{lines}")), [expected], "{lines}");
    };
    check("clock Mars", "a.txt:3:7: there is no time zone `Mars`");
    check("start monday", "a.txt:3:7: `monday` is not a date, such as 2026-01-05");
    check("start 9999-12-30", "a.txt:3:7: `9999-12-30` is not within 1970-01-01 and 2999-12-31");
    check("start 1969-12-31", "a.txt:3:7: `1969-12-31` is not within 1970-01-01 and 2999-12-31");
    check(
        "3000-01-01 09:00 follow ann item:7",
        "a.txt:3:1: `3000-01-01` is not within 1970-01-01 and 2999-12-31",
    );
}

#[test]
fn the_head_must_be_there() {
    let check = |text: &str, expected: &[&str]| assert_eq!(first_lines(text), expected, "{text}");
    check("# fine\ncatalogue toy\n", &[]);
    check(
        "catalogue toy\n",
        &["a.txt:1:1: a scenario must begin with `# ` and the behaviour that it proves"],
    );
    check("# fine\nexpect nothing\n", &["a.txt:1:1: the catalogue is missing"]);
    check("# fine\ncatalogue\n", &["a.txt:2:10: a folder is missing"]);
}

#[test]
fn one_instant_has_no_order() {
    let check = |lines: &str, good: bool| {
        let expected: &[&str] =
            if good { &[] } else { &["a.txt:4:1: line 3 states something else for the same instant"] };
        assert_eq!(first_lines(&format!("{HEAD}{lines}")), expected, "{lines}");
    };
    check("follow ann item:7\nunfollow ann item:7", false);
    check("follow ann item:7\nunfollow ann item:8", true);
    check("follow ann item:7\nmon 00:01 unfollow ann item:7", true);
    check("mute ann kind item_out\nunmute ann kind item_out", false);
    check("mute ann subject item:7\nunmute ann thread item:7", true);
    check("erase ann\nwelcome ann", false);
    check("person ann zone=UTC\nperson ann zone=Asia/Tokyo", false);
    check("event item.out item:7 out=yes @subjects=[item:8]\nevent item.back item:8 out=no", false);
    check("event item.out item:7 out=yes @subjects=[item:8]\nevent item.back item:9 out=no", true);
    check("person ann zone=UTC\nperson ann name=Ann", true);
    check("event item.out item:7 out=yes\nevent item.back item:7 out=no", false);
    check("event item.out item:7 out=yes\nevent item.back item:7 out=no @version=9999999999999", true);
    check("event item.out item:7 out=yes\nexpect rejected \"x\"\nevent item.back item:7 out=no", true);
    check("event item.out item:7 out=yes @at=(mon 08:00)\nevent item.back item:7 out=no", true);
}

#[test]
fn words_make_stories() {
    let words = "word offer ITEM = event item.out $ITEM out=yes score=1\nword relist ITEM WHY = offer $ITEM why=\"again: $WHY\"\n";
    let find = |folder: &str| (folder == "toy").then(|| ("w.txt".to_owned(), words.to_owned()));
    let text = format!("{HEAD}offer item:1 score=2 title=\"Moon\"\nrelist item:2 'as new'\n");
    let scenario = parse_with("a.txt", &text, &find).unwrap();
    let events: Vec<String> = scenario
        .lines
        .iter()
        .map(|line| match &line.what {
            ScenarioStep::Do(ScenarioAct::Event(event)) => {
                format!("{} {} {}", event.what, event.subject, Value::Object(event.fields.clone()))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        events,
        [
            r#"item.out item:1 {"out":true,"score":2,"title":"Moon"}"#,
            r#"item.out item:2 {"out":true,"score":1,"why":"again: as new"}"#,
        ]
    );
    assert_eq!(scenario.lines[0].text, "offer item:1 score=2 title=\"Moon\"");
    let wrong = parse_with("a.txt", &format!("{HEAD}offer item\n"), &find).unwrap_err();
    assert!(
        wrong.to_string().ends_with("= it stands for `event item.out $ITEM out=yes score=1` (w.txt:1)"),
        "{wrong}"
    );
    let bad = |_: &str| Some(("w.txt".to_owned(), "follow ann item:7".to_owned()));
    let wrong = parse_with("a.txt", HEAD, &bad).unwrap_err();
    assert!(wrong.to_string().starts_with("w.txt:1:1: only `word"), "{wrong}");
}

/// What a line asks of the house, as JSON.
#[test]
fn a_line_becomes_a_request() {
    let check = |line: &str, expected: &str| {
        let scenario =
            parse("a.txt", &format!("{HEAD}{line}")).unwrap_or_else(|problems| panic!("{problems}"));
        let line = &scenario.lines[0];
        let at = line.until;
        let said: Value = match &line.what {
            ScenarioStep::Do(ScenarioAct::Event(event)) => {
                serde_json::from_str(&request::event_body(event)).unwrap()
            }
            ScenarioStep::Do(ScenarioAct::Profile { person, fields }) => {
                serde_json::from_str(&request::profile_request(1, at, person, fields).body).unwrap()
            }
            ScenarioStep::Do(ScenarioAct::Mute { person, muted, on }) => {
                serde_json::from_str(&request::mute_request(1, at, person, muted, *on).body).unwrap()
            }
            ScenarioStep::Do(ScenarioAct::Erase { person, welcomes }) => {
                serde_json::from_str(&request::erase_request(1, at, person, *welcomes).body).unwrap()
            }
            ScenarioStep::Do(ScenarioAct::Revoke(revoked)) => {
                serde_json::from_str(&revocation::revoke_request(1, at, revoked).body).unwrap()
            }
            other => panic!("{other:?}"),
        };
        let part = |name: &str| Some(format!("{name}={}", said.get(name)?));
        let parts: Vec<String> =
            ["type", "subject", "subjects", "persons", "data"].into_iter().filter_map(part).collect();
        assert_eq!(parts.join(" "), expected);
    };
    check(
        "event item.out item:7 @persons=[ann ben=0.9, 'a=b']",
        r#"type="item.out" subject="item:7" persons=["ann",{"person":"ben","score":0.9},"a=b"] data={}"#,
    );
    check(
        "event item.out item:7 @subjects=[item:8 item:9] @persons=ann out=yes",
        r#"type="item.out" subjects=["item:7","item:8","item:9"] persons=["ann"] data={"out":true}"#,
    );
    check(
        "person ann place=52.5,13.4 email_plan=weekly",
        r#"type="tidings.profile" data={"place":{"lat":52.5,"lon":13.4},"email_plan":"weekly","person":"ann"}"#,
    );
    check("mute ann kind item_out", r#"type="tidings.mute" data={"person":"ann","kind":"item_out"}"#);
    check("unmute ann actor bob", r#"type="tidings.unmute" data={"person":"ann","actor":"bob"}"#);
    let many = parse(
        "a.txt",
        &format!("{HEAD}event item.out item:7 @times=3 @actor=[ann ben] @actorname=[Ann Ben]"),
    )
    .unwrap();
    let ScenarioStep::Do(ScenarioAct::Event(event)) = &many.lines[0].what else { panic!("it is an event") };
    let said: Vec<Value> = serde_json::from_str(&request::event_body(event)).unwrap();
    let told: Vec<String> = said.iter().map(|one| format!("{} {}", one["actor"], one["actorname"])).collect();
    assert_eq!(told, [r#""ann" "Ann""#, r#""ben" "Ben""#, r#""ann" "Ann""#]);
    assert!(said[0]["id"] != said[1]["id"] && said[0]["time"] != said[1]["time"]);
    check("erase ann", r#"type="tidings.erase" data={"person":"ann"}"#);
    check("revoke item:7", r#"type="tidings.revoke" data={"subject":"item:7"}"#);
    check(
        "revoke event line-3 about item:7",
        r#"type="tidings.revoke" data={"event":{"source":"scenario","id":"line-3"},"subject":"item:7"}"#,
    );
    check("welcome ann", r#"type="tidings.welcome" data={"person":"ann"}"#);
    check("mute ann thread item:7", r#"type="tidings.mute" data={"person":"ann","thread":"item:7"}"#);
}

#[test]
fn days_are_dates_of_the_scenario() {
    let scenario = parse("a.txt", &format!("{HEAD}archive before thu\narchive before 2026-02-01")).unwrap();
    let days: Vec<&ScenarioStep> = scenario.lines.iter().map(|line| &line.what).collect();
    let archive = |day: &str| ScenarioStep::Do(ScenarioAct::Archive { before: Day::parse(day).unwrap() });
    assert_eq!(days, [&archive("2026-01-08"), &archive("2026-02-01")]);
}

/// The toy.
struct ToyWorld {
    clock: Clock,
    /// Who follows what.
    follows: BTreeSet<(String, String)>,
    /// What waits for its midnight: when, for whom, about what.
    due: Vec<(i64, String, String)>,
    mails: Vec<StageMail>,
    told: BTreeMap<String, Vec<StageEntry>>,
    aside: Vec<String>,
    /// What was released and archived.
    done: Vec<String>,
    hangs: bool,
}

const DAY: i64 = 86_400_000;

impl ToyWorld {
    fn new(at: UtcMillis) -> Self {
        Self {
            clock: Clock::still(at.0),
            follows: BTreeSet::new(),
            due: Vec::new(),
            mails: Vec::new(),
            told: BTreeMap::new(),
            aside: Vec::new(),
            done: Vec::new(),
            hangs: false,
        }
    }
}

#[async_trait]
impl StageWorld for ToyWorld {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    async fn settle(&mut self) -> anyhow::Result<()> {
        if self.hangs {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        let now = self.clock.now();
        let (due, waiting) = std::mem::take(&mut self.due).into_iter().partition(|(at, ..)| *at <= now);
        self.due = waiting;
        for (_, person, subject) in due as Vec<(i64, String, String)> {
            let section = StageMailSection { title: "News".to_owned(), items: vec![subject.clone()] };
            let text = format!("News\n{subject}\nby\nnight");
            self.mails.push(StageMail {
                channel: model::Channel::Email,
                silent: false,
                to: format!("{person}@example.org"),
                headline: "Hello".to_owned(),
                html: format!("<b>News</b><p>{subject} by night</p>"),
                sections: vec![section],
                text,
                tenant: Tenant::new("main").unwrap(),
                person: Person::new(&person).unwrap(),
            });
            self.told.entry(person).or_default().push(StageEntry {
                at: UtcMillis(now),
                subject,
                fates: vec![(model::Channel::Email, "told".to_owned())],
            });
        }
        Ok(())
    }

    async fn lagging_stages(&mut self) -> anyhow::Result<Vec<String>> {
        Ok(vec!["the toy, 1 record".to_owned()])
    }

    async fn open_mail(
        &mut self,
        _: &Tenant,
        person: &Person,
        by: MailVisitor,
    ) -> anyhow::Result<Vec<String>> {
        Ok(vec![format!("{person}:{}", by.word()), "-".to_owned()])
    }

    async fn click_slot(&mut self, _: &Tenant, person: &Person, place: usize) -> anyhow::Result<String> {
        Ok(format!("{person}:{place}"))
    }

    async fn post(&mut self, _: &Tenant, path: &str, body: &str) -> anyhow::Result<StageAnswer> {
        let body: Value = serde_json::from_str(body)?;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        if path == "/v1/facts" && body["type"] == "tidings.follow" {
            self.follows.insert((text(&body["data"]["target"]), text(&body["data"]["person"])));
        } else if body["type"] == "item.wrong" {
            let rejected = r#"{"accepted":0,"rejected":[{"index":0,"reason":"it is wrong","at":"/type"}]}"#;
            return Ok(StageAnswer { status: 400, body: rejected.to_owned() });
        } else if body["type"] == "item.uot" {
            let noted =
                r#"{"accepted":1,"rejected":[],"notes":[{"index":0,"note":"did you mean `item.out`?"}]}"#;
            return Ok(StageAnswer { status: 202, body: noted.to_owned() });
        } else if path == "/v1/changes" {
            let midnight = (self.clock.now() / DAY + 1) * DAY;
            let clock = self.clock.clone();
            tokio::spawn(async move { clock.sleep_until(midnight).await });
            let subject = text(&body["subject"]);
            let followers: Vec<_> = self.follows.iter().filter(|(target, _)| *target == subject).collect();
            self.due
                .extend(followers.into_iter().map(|(_, person)| (midnight, person.clone(), subject.clone())));
        }
        Ok(StageAnswer { status: 202, body: r#"{"accepted":1,"rejected":[]}"#.to_owned() })
    }

    async fn upstream(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.aside.push(format!("{} bytes", bytes.len()));
        Ok(())
    }

    async fn stop(&mut self, _: RestartMode) -> anyhow::Result<()> {
        Ok(())
    }

    async fn start(&mut self, _: Option<&str>) -> anyhow::Result<()> {
        Ok(())
    }

    async fn mail_server(&mut self, _: MailServerState) -> anyhow::Result<()> {
        Ok(())
    }

    async fn return_last_mail(
        &mut self,
        _: &Tenant,
        person: &Person,
        back: ScenarioReturn,
    ) -> anyhow::Result<()> {
        self.done.push(format!("{} of {person}", back.word()));
        Ok(())
    }

    async fn lift(&mut self, _: &Tenant, person: &Person, stream: Option<&str>) -> anyhow::Result<()> {
        self.done.push(format!("lifted {person} {}", stream.unwrap_or("all")));
        Ok(())
    }

    async fn app(&mut self, _: &Person, _: bool) -> anyhow::Result<()> {
        Ok(())
    }

    async fn mails(&mut self) -> anyhow::Result<Vec<StageMail>> {
        Ok(self.mails.clone())
    }

    async fn entries(&mut self, _: &Tenant, person: &Person) -> anyhow::Result<Vec<StageEntry>> {
        Ok(self.told.get(person.as_str()).cloned().unwrap_or_default())
    }

    async fn quarantine(&mut self) -> anyhow::Result<Vec<String>> {
        Ok(self.aside.clone())
    }

    async fn windows(&mut self, _: &Tenant, person: &Person) -> anyhow::Result<usize> {
        Ok(self.due.iter().filter(|(_, whose, _)| whose == person.as_str()).count())
    }

    /// All that was mailed is of the category `items`; two are counted at most.
    async fn feed(&mut self, _: &Tenant, person: &Person, most: usize) -> anyhow::Result<StageFeed> {
        let entries = self.told.get(person.as_str()).cloned().unwrap_or_default();
        let bundle = |entry: &StageEntry| json!({"says": entry.subject, "new": true, "unread": true});
        let bundles: Vec<Value> = entries.iter().rev().map(bundle).take(most).collect();
        let next = (entries.len() > most).then_some("there");
        let count = json!({"number": entries.len().min(2), "more": entries.len() > 2});
        let mut counts = json!({"new": count, "unread": count, "categories": {}});
        if !entries.is_empty() {
            counts["categories"]["items"] = json!({"new": count, "unread": {"number": 0, "more": false}});
        }
        let page = json!({"bundles": bundles, "counts": counts, "next": next});
        StageFeed::parse(&StageAnswer { status: 200, body: page.to_string() }, ["items", "others"])
    }

    async fn release(&mut self, _: &Tenant, plan: &PlanName, person: Option<&Person>) -> anyhow::Result<()> {
        let meant = |whose: &str| person.is_none_or(|person| person.as_str() == whose);
        let now = self.clock.now();
        for (at, whose, _) in &mut self.due {
            if meant(whose) {
                *at = now;
            }
        }
        self.done.push(format!("{plan} was released"));
        Ok(())
    }

    async fn set_pause(&mut self, scope: &PauseScope, is_paused: bool) -> anyhow::Result<()> {
        self.done.push(format!("{scope} was {}", if is_paused { "paused" } else { "resumed" }));
        Ok(())
    }

    async fn discard(
        &mut self,
        _: &Tenant,
        plan: &PlanName,
        person: &Person,
        key: Option<&str>,
    ) -> anyhow::Result<()> {
        self.due.retain(|(_, whose, _)| whose != person.as_str());
        let key = key.map(|key| format!(" with {key}")).unwrap_or_default();
        self.done.push(format!("{plan}{key} was discarded"));
        Ok(())
    }

    async fn explain(
        &mut self,
        _: &Tenant,
        person: &Person,
        subject: &SubjectRef,
    ) -> anyhow::Result<Vec<String>> {
        let follows = self.follows.contains(&(subject.to_string(), person.to_string()));
        let line = if follows { "follows it" } else { "does not follow it" };
        Ok([vec![line.to_owned()], self.done.clone()].concat())
    }

    async fn replay(&mut self, topic: &str, from: UtcMillis, tells_missing: bool) -> anyhow::Result<()> {
        let how = if tells_missing { "telling" } else { "quiet" };
        self.done.push(format!("{topic} from {from}, {how}"));
        Ok(())
    }

    async fn archive(&mut self, before: Day) -> anyhow::Result<()> {
        self.done.push(format!("{before} was archived"));
        Ok(())
    }
}

/// What a run says: `has_passed`, or where and why it failed.
async fn play_lines(lines: &str) -> String {
    let scenario = parse("a.txt", &format!("{HEAD}{lines}")).unwrap_or_else(|problems| panic!("{problems}"));
    let mut toy = ToyWorld::new(scenario.calendar.start());
    let report = run(&scenario, &mut toy).await;
    match report.failure {
        None => "passed".to_owned(),
        Some(failure) => format!("{}: {}", failure.line, failure.what),
    }
}

const STORY: &str = "follow ann item:7\nmon 10:00 event item.out item:7\n";

#[tokio::test]
async fn what_is_expected_passes() {
    for lines in [
        "",
        "tue 00:00 expect mail ann",
        "tue 00:00 expect mail ann to ann@example.org headline \"Hello\" sections \"News: item:7\" has \"item:7 by night\" lacks \"item:8\"",
        "expect open ann 1\nexpect fate ann item:7 none\ntue 00:00 expect mail ann\nexpect fate ann item:7 \"told\"\nexpect open ann 0",
        "mon 23:00 expect nothing\nmon 23:30 expect nothing",
        "mon 20:00..23:59 expect nothing\ntue 00:00..09:00 expect mail ann\nexpect nothing",
        "mon 11:00 event item.wrong item:1\nexpect rejected \"is wrong\"\nupstream hex 00ff\nexpect quarantine \"2 bytes\"",
        "mon 11:00 again\ntue 00:00 expect mail ann\nexpect mail ann\nwed 00:00 expect nothing",
        "tenant other\ntenant main\ntue 00:00 expect mail ann",
        "post /v1/facts '{}' expect 202 \"accepted\"",
        "mon 12:00 release daily ann\nexpect mail ann\ntue 09:00 expect nothing",
        "mon 12:00 release daily all\nexpect mail ann\nexpect why ann item:7 \"follows\" \"daily was\"",
        "release daily ben\ntue 00:00 expect mail ann",
        "mon 12:00 discard daily ann\ntue 09:00 expect nothing",
        "mon 12:00 discard daily ann key item:7\nexpect why ann item:7 \"daily with item:7 was discarded\"",
        "mon 12:00 replay events from mon 10:00\nexpect why ann item:7 \"events from 2026-01-05T10:00:00.000Z, quiet\"\ntue 00:00 expect mail ann",
        "mon 12:00 replay changes from mon 10:00 telling missing\nexpect why ann item:7 \"changes from\" \"telling\"\ntue 00:00 expect mail ann",
        "archive before mon\nexpect why ben item:7 \"does not\" \"2026-01-05 was archived\"\ntue 00:00 expect mail ann",
        "expect feed ann none\nexpect feed ann first 1 none\nexpect count ann category items new 0 unread 0\ntue 00:00 expect mail ann",
        "tue 00:00 expect mail ann\nexpect feed ann first 1 \"item:7 (new)\"\nexpect count ann category items new 1 unread 0\nexpect count ann category others new 0 unread 0",
        "mon 11:00 again\nmon 12:00 again\ntue 00:00 expect mail ann\nexpect mail ann\nexpect mail ann\n\
            expect feed ann first 2 \"item:7 (new)\" \"item:7 (new)\" more\n\
            expect count ann category items new 2+ unread 0\nexpect count ann new 2+ unread 2+",
    ] {
        assert_eq!(play_lines(&format!("{STORY}{lines}")).await, "passed", "{lines}");
    }
}

#[tokio::test]
async fn expectations_are_exact() {
    let check = async |lines: &str, expected: &str| {
        assert_eq!(play_lines(&format!("{STORY}{lines}")).await, expected, "{lines}");
    };
    let unexpected = "an unexpected mail came:\n    tue 2026-01-06 00:00:00  mail ann: Hello | News: \
        item:7";
    check("tue 09:00 expect nothing", &format!("5: {unexpected}")).await;
    check("tue 00:01 expect mail ann", &format!("5: {unexpected}")).await;
    check("tue 09:00 follow bob item:7", &format!("5: {unexpected}")).await;
    check("tue 00:00 expect open ann 0", &format!("5: {unexpected}")).await;
    check(
        "expect why ann item:7 \"follows\" \"likes\"",
        "5:          expected     actual\n    why  … follows …  follows it\n  ≠ why  … likes …    follows it",
    )
    .await;
    let told = "tue 00:00 expect mail ann\nexpect";
    check(
        &format!("{told} feed ann first 1 \"item:7 (new)\" more"),
        "6:                expected      actual\n    bundle 1   item:7 (new)  item:7 (new)\n  ≠ behind it  more          no more",
    )
    .await;
    check(
        &format!("{told} count ann category itmes new 1 unread 1"),
        "6: there is no category `itmes`: did you mean `items`?",
    )
    .await;
    check("tue 00:00 expect mail bob", "5: no mail came to bob, but:\n    mail ann: Hello | News: item:7")
        .await;
    check(
        "tenant other\ntue 00:00 expect mail ann",
        "6: no mail came to ann of other, but:\n    mail ann: Hello | News: item:7",
    )
    .await;
    check("mon 23:59 expect mail ann", "5: no mail came to ann").await;
    check("upstream \"x\"", "5: something was put aside unexpectedly:\n    mon 2026-01-05 10:00:00  1 bytes")
        .await;
    check("event item.wrong item:1", "5: it was refused: it is wrong (at /type)").await;
    check("event item.wrong item:1\nexpect nothing", "5: it was refused: it is wrong (at /type)").await;
    check(
        "tue 00:00 expect nothing",
        "5:           expected  actual\n  ≠ mail  (none)    mail ann: Hello | News: item:7",
    )
    .await;
    check(
        "tue 00:00 expect mail ann headline \"Hullo\" sections \"News: item:8\" has \"gone\" lacks \"item:7\"",
        "5:                expected        actual
  ≠ headline   Hullo           Hello
  ≠ section 1  News: item:8    News: item:7
  ≠ text       has `gone`      News item:7 by night
  ≠ text       lacks `item:7`  News item:7 by night
  ≠ html       has `gone`      News item:7 by night
  ≠ html       lacks `item:7`  News item:7 by night",
    )
    .await;
}

#[tokio::test]
async fn the_trace_is_the_same_in_every_run() {
    let lines = format!(
        "{STORY}follow bob item:7\nupstream \"x\"\nexpect quarantine \"1\"\nevent item.out item:7\ntue 00:00 expect mail ann\nexpect mail ann\nexpect mail bob\n"
    );
    let scenario = parse("a.txt", &format!("{HEAD}{lines}")).unwrap();
    let mut traces = Vec::new();
    for _ in 0..2 {
        let report = run(&scenario, &mut ToyWorld::new(scenario.calendar.start())).await;
        assert!(report.has_passed(), "{report}");
        traces.push(report.trace);
    }
    assert_eq!(traces[0], traces[1]);
    let expected = [
        "mon 2026-01-05 00:00:00  follow ann item:7",
        "mon 2026-01-05 10:00:00  event item.out item:7",
        "mon 2026-01-05 10:00:00  follow bob item:7",
        "mon 2026-01-05 10:00:00  upstream \"x\"",
        "mon 2026-01-05 10:00:00  put aside: 1 bytes",
        "mon 2026-01-05 10:00:00  event item.out item:7",
        "tue 2026-01-06 00:00:00  mail ann: Hello | News: item:7",
        "tue 2026-01-06 00:00:00  mail ann: Hello | News: item:7",
        "tue 2026-01-06 00:00:00  mail bob: Hello | News: item:7",
        "tue 2026-01-06 00:00:00  ann's entry about item:7: told (mail)",
        "tue 2026-01-06 00:00:00  ann's entry about item:7: told (mail)",
        "tue 2026-01-06 00:00:00  bob's entry about item:7: told (mail)",
    ];
    assert_eq!(traces[0], expected);
}

#[tokio::test]
async fn what_the_house_notes_is_said_with_its_line() {
    let scenario = parse("a.txt", &format!("{HEAD}event item.uot item:1\nfollow ann item:7")).unwrap();
    let report = run(&scenario, &mut ToyWorld::new(scenario.calendar.start())).await;
    assert!(report.has_passed(), "{report}");
    assert_eq!(report.notes, [ScenarioNote { line: 3, what: "did you mean `item.out`?".to_owned() }]);
    assert_eq!(report.trace[1], "mon 2026-01-05 00:00:00  noted: did you mean `item.out`?");
}

#[tokio::test]
async fn a_slow_house_may_be_late_but_not_later_than_the_next_line() {
    let check = async |lines: &str, late_ms_max: i64, expected: Option<usize>| {
        let scenario = parse("a.txt", &format!("{HEAD}{STORY}{lines}")).unwrap();
        let pace = ScenarioPace { late_ms_max, ..ScenarioPace::EXACT };
        let report = run_at(pace, &scenario, &mut ToyWorld::new(scenario.calendar.start())).await;
        assert_eq!(report.failure.as_ref().map(|failure| failure.line), expected, "{report}");
    };
    check("mon 23:50 expect mail ann", 0, Some(5)).await;
    check("mon 23:50 expect mail ann", 600_000, None).await;
    check("mon 23:50 expect mail ann", 599_999, Some(5)).await;
    check("mon 23:50 expect mail ann\nexpect nothing\ntue 00:00 expect nothing", 600_000, Some(5)).await;
    check("mon 23:50 expect mail ann\nexpect nothing\ntue 00:01 expect nothing", 600_000, None).await;
}

#[tokio::test]
async fn a_house_that_hangs_is_an_error() {
    let scenario = parse("a.txt", &format!("{HEAD}{STORY}")).unwrap();
    let mut toy = ToyWorld::new(scenario.calendar.start());
    toy.hangs = true;
    let failure = run_at(
        ScenarioPace { line_time_max: Duration::from_millis(1), ..ScenarioPace::EXACT },
        &scenario,
        &mut toy,
    )
    .await
    .failure
    .unwrap();
    let expected = "the house does not come to rest within 1ms; behind: the toy, 1 record";
    assert_eq!((failure.line, failure.what.as_str()), (3, expected));
}
