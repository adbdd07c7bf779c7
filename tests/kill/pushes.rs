//! The real process with a push service that nobody here wrote, killed at every point of a push: after its claim, while the
//! service has it in its hands, taken or not, and when it was taken and nobody wrote that down. Each push arrives once at most
//! by its tag. Where nobody can know, what is urgent goes out again under the same tag, by which a browser shows it once; all
//! else is told again under another, with the word that it may have been sent before.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use engines::{PushService, SubscribedBrowser};
use serde_json::Value;

use crate::{
    house::KillHouse,
    lives::{self, DEATHS, KillPoint, LifeEngines, SHARED, TAKEN},
    load::{ArrivedMessage, KillLoad},
};

/// A service, and a house's key for it.
struct PushServiceSetup {
    service: PushService,
    folder: tempfile::TempDir,
    public: String,
}

#[test]
fn killed_at_every_point_of_a_push_each_arrives_once_or_says_that_it_may_not_be_the_first() {
    let service = PushServiceSetup::start().unwrap();
    for (at, is_urgent) in DEATHS {
        let dir = tempfile::tempdir().unwrap();
        let told = run_round(dir.path(), &service, (at, is_urgent), &LifeEngines::embedded());
        assert_eq!(told, Ok(()), "{at}, urgent: {is_urgent}");
    }
}

#[test]
fn on_kafka_and_cassandra_it_is_the_same() {
    let service = PushServiceSetup::start().unwrap();
    for (name, at, is_urgent) in SHARED {
        let dir = tempfile::tempdir().unwrap();
        let engines = LifeEngines::on_clusters(&format!("push_{name}")).unwrap();
        let told = run_round(dir.path(), &service, (at, is_urgent), &engines);
        assert_eq!(told, Ok(()), "{at}, urgent: {is_urgent}");
    }
}

impl PushServiceSetup {
    fn start() -> Result<Self, String> {
        let service = PushService::start().map_err(|error| format!("{error:#}"))?;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let ca = service.ca().map_err(|error| error.to_string())?;
        fs::write(folder.path().join("ca.pem"), ca).map_err(|error| error.to_string())?;
        let mut make = Command::new(tests::binary().map_err(|error| error.to_string())?);
        make.args(["--json", "push", "key", "--file", "vapid.pem"]).current_dir(folder.path());
        let made = make.output().map_err(|error| error.to_string())?;
        let said: Value = serde_json::from_slice(&made.stdout).map_err(|error| error.to_string())?;
        let public = said["public"].as_str().ok_or("a key without its public half")?.to_owned();
        Ok(Self { service, folder, public })
    }

    fn file(&self, name: &str) -> Result<String, String> {
        let path: PathBuf = self.folder.path().join(name);
        path.into_os_string().into_string().map_err(|path| format!("{} is no text", path.display()))
    }

    /// A house that pushes to it.
    fn house(&self, dir: &Path, more: &[(&str, &str)]) -> Result<KillHouse, String> {
        let (key, ca) = (self.file("vapid.pem")?, self.file("ca.pem")?);
        let settings = [
            ("TIDINGS_WEBPUSH_KEY_FILE", key.as_str()),
            ("TIDINGS_WEBPUSH_SUBJECT", "mailto:ops@example.org"),
            ("TIDINGS_WEBPUSH_HOSTS", self.service.host()),
            ("TIDINGS_PUSH_CA", &ca),
        ];
        KillHouse::start_on("kill/called", dir, &[&settings, more].concat())
    }

    /// What a browser was shown, decrypted.
    fn read_pushes(&self, to: &str, browser: &SubscribedBrowser) -> Result<Vec<ArrivedMessage>, String> {
        let received = self.service.read_notifications(browser).map_err(|error| format!("{error:#}"))?;
        let told = received.iter().map(|text| {
            let push: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            let field = |name: &str| push[name].as_str().ok_or(format!("a push without its {name}: {push}"));
            let text = field("body")?.replace("; ", "\n");
            Ok(ArrivedMessage { id: field("tag")?.to_owned(), to: to.to_owned(), text })
        });
        told.collect()
    }
}

/// Two lives; what is wrong with what arrived.
fn run_round(
    dir: &Path,
    service: &PushServiceSetup,
    (at, is_urgent): (KillPoint, bool),
    engines: &LifeEngines,
) -> Result<(), String> {
    let browsers = (0..KillLoad::PERSONS).map(|_| service.service.subscribe(&service.public));
    let browsers: Vec<SubscribedBrowser> =
        browsers.collect::<Result<_, _>>().map_err(|error| format!("{error:#}"))?;
    let mut load = KillLoad::default();
    load.browsers = browsers.iter().map(|browser| browser.json.clone()).collect();
    load.is_urgent = is_urgent;
    if let KillPoint::Held(_) = at {
        service.service.hold(&browsers[0], at == TAKEN).map_err(|error| format!("{error:#}"))?;
    }
    let open = |more: &[(&str, &str)]| service.house(dir, &[&engines.settings()[..], more].concat());
    let holds = || service.service.wait_until_it_holds(&browsers[0]).is_ok();
    let house = lives::live_twice(&mut load, (at, "hour"), &open, &holds)?;
    let wrong = || {
        let told = (0..).zip(&browsers).map(|(p, browser)| service.read_pushes(&load.address(p), browser));
        let told: Vec<ArrivedMessage> = told.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        if is_urgent { load.check_urgent(told, at.was_taken()) } else { load.check_arrived(&told, true) }
    };
    lives::settle_house(&house, &wrong)
}
