//! The real process with a receiver of hooks, killed at every point of a call: after its claim, while the receiver has it in
//! its hands, read or not, and when it was answered and nobody wrote that down. Each call is believed, and each message
//! comes once at most by its id. Where nobody can know, what is urgent comes again by the same id; all else is told again
//! by another, with the word that it may have been sent before.

use std::{fs, path::Path, process::Command};

use engines::{HookReceiver, ReceivedCall};

use crate::{
    house::KillHouse,
    lives::{self, DEATHS, KillPoint, LifeEngines, SHARED},
    load::{ArrivedMessage, KillLoad},
};

const SECRET: (&str, &str) = ("TIDINGS_HOOKS_SECRET", "a-secret-of-these-kills-and-of-nobody-else");

#[test]
fn killed_at_every_point_of_a_call_each_message_comes_once_or_says_that_it_may_not_be_the_first() {
    let receiver = start_receiver();
    for (at, is_urgent) in DEATHS {
        let dir = tempfile::tempdir().unwrap();
        let told = run_round(dir.path(), &receiver, (at, is_urgent), &LifeEngines::embedded());
        assert_eq!(told, Ok(()), "{at}, urgent: {is_urgent}");
    }
}

#[test]
fn on_kafka_and_cassandra_it_is_the_same() {
    let receiver = start_receiver();
    for (name, at, is_urgent) in SHARED {
        let dir = tempfile::tempdir().unwrap();
        let engines = LifeEngines::on_clusters(&format!("hooks_{name}")).unwrap();
        let told = run_round(dir.path(), &receiver, (at, is_urgent), &engines);
        assert_eq!(told, Ok(()), "{at}, urgent: {is_urgent}");
    }
}

/// Who is called, with the secret of these houses' calls.
fn start_receiver() -> HookReceiver {
    let mut secret = Command::new(tests::binary().unwrap());
    secret.args(["hooks", "secret", "main"]).envs([SECRET]);
    let said = secret.output().unwrap();
    assert!(said.status.success(), "{said:?}");
    HookReceiver::start(String::from_utf8(said.stdout).unwrap().trim()).unwrap()
}

/// Two lives; what is wrong with what came.
fn run_round(
    dir: &Path,
    receiver: &HookReceiver,
    (at, is_urgent): (KillPoint, bool),
    engines: &LifeEngines,
) -> Result<(), String> {
    let plain = |error: anyhow::Error| format!("{error:#}");
    let before = receiver.read_calls().map_err(plain)?.len();
    let mut load = KillLoad::default();
    load.is_urgent = is_urgent;
    load.hooks = (0..KillLoad::PERSONS).map(|p| receiver.url_of(&format!("/p{p}"))).collect();
    let held = receiver.held_count();
    if let KillPoint::Held(mood) = at {
        // Another path each time, for it is held once.
        load.hooks[0] = receiver.url_of(&format!("/hold-{mood}/{held}"));
    }
    let ca = dir.join("receiver.pem");
    fs::write(&ca, receiver.ca().map_err(plain)?).map_err(|error| error.to_string())?;
    let ca = ca.to_str().ok_or("the folder's name is no text")?;
    let usual = [
        SECRET,
        ("TIDINGS_HOOKS_CHANNELS", "webhook"),
        ("TIDINGS_HOOKS_HOSTS", receiver.host()),
        ("TIDINGS_HOOKS_CA", ca),
    ];
    let data = dir.join("data");
    let open = |more: &[(&str, &str)]| {
        KillHouse::start_on("kill/called", &data, &[&usual, &engines.settings()[..], more].concat())
    };
    let holds = || receiver.wait_until_it_holds_more_than(held).is_ok();
    let house = lives::live_twice(&mut load, (at, "hour"), &open, &holds)?;
    let wrong = || {
        let called = receiver.read_calls().map_err(plain)?.split_off(before);
        let told = called.iter().map(|call| read_call(&load, call)).collect::<Result<Vec<_>, _>>()?;
        if is_urgent { load.check_urgent(told, at.was_taken()) } else { load.check_arrived(&told, true) }
    };
    lives::settle_house(&house, &wrong)
}

/// A call as a message; whoever calls has to be believed.
fn read_call(load: &KillLoad, call: &ReceivedCall) -> Result<ArrivedMessage, String> {
    let data = &call.says["data"];
    let text = |name: &str| data[name].as_str().ok_or_else(|| format!("a call without its {name}: {call:?}"));
    let person: u64 =
        text("person")?.trim_start_matches('p').parse().map_err(|_| format!("a stranger's: {call:?}"))?;
    if !call.is_believed || call.id.is_empty() || !text("message")?.starts_with(&call.id) {
        return Err(format!("this call is not to be believed: {call:?}"));
    }
    Ok(ArrivedMessage {
        id: call.id.clone(),
        to: load.address(person),
        text: text("longer")?.replace("; ", "\n"),
    })
}
