//! Plans that follow others: which of them tell somebody, and what could tell nobody.

use model::{Value, VersionedState, person::profile};

use super::{MJML, describe_result, parse_with};

const CHAIN: &str = r"catalogue: chain
subjects:
  item: {title: text}
kinds:
  said: {on: item.said, to: listed, says: '{{ subject.title }}', plans: [softly, loudly, after_soft, after_loud, hourly]}
plans:
  softly:
    channel: push
    close: at_once
    RULES
    look_back: 2d
    headline: soft
    body: soft
    sections: [{title: Said, kinds: said, most: 5}]
  loudly:
    channel: push
    close: at_once
    look_back: 2d
    headline: loud
    body: loud
    sections: [{title: Said, kinds: said, most: 5}]
  after_soft:
    channel: chat
    follows: {plan: softly, wait: 10m}
    close: at_once
    look_back: 2d
    headline: after soft
    body: after soft
    sections: [{title: Said, kinds: said, most: 5}]
  after_loud:
    channel: chat
    follows: {plan: loudly, wait: 10m}
    close: at_once
    look_back: 2d
    headline: after loud
    body: after loud
    sections: [{title: Said, kinds: said, most: 5}]
  hourly:
    channel: webhook
    close: {after: 1h}
    look_back: 2d
    headline: hourly
    body: hourly
    sections: [{title: Said, kinds: said, most: 5}]
";

#[test]
fn a_plan_that_follows_is_taken_where_it_follows_what_tells_the_person() {
    let catalogue = parse_with(&CHAIN.replace("    RULES\n", ""), MJML).unwrap_or_else(|all| panic!("{all}"));
    let check = |push: &str, chat: &str, expected: [&str; 3]| {
        let cells = [(profile::PUSH_PLAN, push), ("chat_plan", chat)];
        let profile =
            VersionedState::from_values(1, cells.map(|(name, plan)| (name, Some(Value::from_text(plan)))));
        let plans = catalogue.plans_for(&catalogue.kinds["said"], &profile);
        let mut names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{push} {chat}");
    };
    check("", "", ["after_soft", "hourly", "softly"]);
    check("loudly", "", ["after_loud", "hourly", "loudly"]);
    check("loudly", "after_soft", ["after_loud", "hourly", "loudly"]);
    check("", "after_loud", ["after_soft", "hourly", "softly"]);
}

#[test]
fn what_follows_must_have_something_to_tell() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(CHAIN.contains(from), "{from}");
        let text = CHAIN.replacen(from, to, 1).replace("    RULES\n", "");
        assert_eq!(describe_result(parse_with(&text, MJML)), expected, "{to}");
    };
    check("plan: softly", "plan: [softly, loudly]", "fine");
    check(
        "plan: loudly",
        "plan: softly",
        "5:90: a person who prefers `loudly` is never told `said` by `after_soft`, which follows `softly`; let a plan of `chat` follow `loudly`, too",
    );
    check(
        "    RULES",
        "    follows: {plan: loudly, wait: 10m}",
        "10:21: `softly` would tell on `push` what `loudly` has told there already; an entry is told once on each channel: follow a plan of another channel",
    );
    check(
        "plan: softly, wait: 10m}",
        "plan: softly, wait: 3d}",
        "23:21: `wait` is longer than `look_back`, so waiting entries would be forgotten",
    );
    check(
        "plan: softly, wait: 10m}",
        "plan: softly, wait: 10m}\n    key: [kind]",
        "23:21: `after_soft` has another `key` than `softly`, which it follows; a plan that follows needs the same `key`, or none and one window for all",
    );
    for rule in ["entries: 5", "first: alone", "alone: {within: 1h}", "rest: {start: 1h}"] {
        let (key, _) = rule.split_once(':').unwrap();
        let to = format!("plan: softly, wait: 10m}}\n    {rule}");
        let column = key.len() + 7;
        let said = format!(
            "24:{column}: `{key}` has no effect beside `follows`: the plan closes when its `wait` is over"
        );
        check("plan: softly, wait: 10m}", &to, &said);
    }
    check("plan: softly, wait: 10m}", "plan: softly, wait: 10m}\n    at_least: 2", "fine");
    // The mail tells what the push told, so that counts as told by mail only once it is.
    check("plan: softly, wait: 10m}", "plan: softly, wait: 10m}\n    counts_on: push", "fine");
    check("    RULES", "    counts_on: webhook", "fine");
    check(
        "    RULES",
        "    counts_on: [webhook, chat]",
        "24:21: entries told by `softly` count on `chat`, too, so `after_soft` would have nothing to tell after it; remove `chat` from `counts_on` of `softly`",
    );
}
