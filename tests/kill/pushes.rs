//! The real process with a push service that nobody here wrote, killed at every point of a push: after its claim, while the
//! service has it in its hands, taken or not, and when it was taken and nobody wrote that down. Each push arrives once at most
//! by its tag. Where nobody can know, what is urgent goes out again under the same tag, by which a browser shows it once; all
//! else is told again under another, with the word that it may have been sent before.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use engines::{PushService, Subscribed};
use runtime::crash;
use serde_json::Value;

use crate::{
    PATIENCE,
    house::House,
    load::{Load, Told},
};

/// A service, and a house's key for it.
struct Service {
    service: PushService,
    folder: tempfile::TempDir,
    public: String,
}

/// Where the process dies: at a point of its own, or while the service holds a push that it took or did not take.
#[derive(Clone, Copy, PartialEq, Debug)]
enum At {
    Own(&'static str, u64),
    Held { is_taken: bool },
}

#[derive(Debug)]
struct Death {
    at: At,
    is_urgent: bool,
}

#[test]
fn killed_at_every_point_of_a_push_each_arrives_once_or_says_that_it_may_not_be_the_first() {
    let service = Service::start().unwrap();
    let check = |death: &Death| {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(round(dir.path(), &service, death), Ok(()), "{death:?}");
    };
    for (nth, is_urgent) in [(1, false), (9, false), (5, true)] {
        check(&Death { at: At::Own(crash::CLAIMED, nth), is_urgent });
        check(&Death { at: At::Own(crash::SENT, nth), is_urgent });
    }
    for is_urgent in [false, true] {
        check(&Death { at: At::Held { is_taken: false }, is_urgent });
        check(&Death { at: At::Held { is_taken: true }, is_urgent });
    }
}

impl Service {
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
    fn house(&self, dir: &Path, stop: Option<&str>) -> Result<House, String> {
        let (key, ca) = (self.file("vapid.pem")?, self.file("ca.pem")?);
        let mut settings = vec![
            ("TIDINGS_WEBPUSH_KEY_FILE", key.as_str()),
            ("TIDINGS_WEBPUSH_SUBJECT", "mailto:ops@example.org"),
            ("TIDINGS_WEBPUSH_HOSTS", self.service.host()),
            ("TIDINGS_PUSH_CA", &ca),
        ];
        settings.extend(stop.map(|stop| ("TIDINGS_STOP_AT", stop)));
        House::start_on("kill/pushed", dir, &settings)
    }

    /// What a browser was shown, decrypted.
    fn told(&self, to: &str, browser: &Subscribed) -> Result<Vec<Told>, String> {
        let received = self.service.received(browser).map_err(|error| format!("{error:#}"))?;
        let told = received.iter().map(|text| {
            let push: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            let field = |name: &str| push[name].as_str().ok_or(format!("a push without its {name}: {push}"));
            let text = field("body")?.replace("; ", "\n");
            Ok(Told { id: field("tag")?.to_owned(), to: to.to_owned(), text })
        });
        told.collect()
    }
}

/// One life that ends by a kill, and one after it; what is wrong with what arrived.
fn round(dir: &Path, service: &Service, death: &Death) -> Result<(), String> {
    let browsers = (0..Load::PERSONS).map(|_| service.service.subscribe(&service.public));
    let browsers: Vec<Subscribed> =
        browsers.collect::<Result<_, _>>().map_err(|error| format!("{error:#}"))?;
    let mut load = Load::default();
    load.browsers = browsers.iter().map(|browser| browser.json.clone()).collect();
    load.is_urgent = death.is_urgent;
    let stop = if let At::Own(point, nth) = death.at { Some(format!("{point}:{nth}")) } else { None };
    if let At::Held { is_taken } = death.at {
        service.service.hold(&browsers[0], is_taken).map_err(|error| format!("{error:#}"))?;
    }
    let first = service.house(dir, stop.as_deref())?;
    load.facts(&first);
    load.publish(&first);
    let came = std::thread::scope(|scope| {
        scope.spawn(|| first.move_clock("hour"));
        let came = match death.at {
            At::Own(..) => first.stopped_within(PATIENCE),
            At::Held { .. } => service.service.wait_until_it_holds(&browsers[0]).is_ok(),
        };
        first.kill();
        came
    });
    if !came {
        return Err(format!("it never came to its point: {}", first.said()));
    }
    let second = service.house(dir, None)?;
    load.facts(&second);
    load.publish(&second);
    if !load.is_acknowledged() {
        return Err("not everything was acknowledged".to_owned());
    }
    for _ in 0..5 {
        second.move_clock("hour");
    }
    let told = (0..).zip(&browsers).map(|(p, browser)| service.told(&load.address(p), browser));
    let told: Vec<Told> = told.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    if death.is_urgent { check_urgent(&load, told, death) } else { load.check_told(&told, true) }
}

/// What is urgent comes twice at most, in the same words under the same tag, and never as a maybe.
fn check_urgent(load: &Load, told: Vec<Told>, death: &Death) -> Result<(), String> {
    let mut by_tag: BTreeMap<String, Vec<Told>> = BTreeMap::new();
    for push in told {
        by_tag.entry(push.id.clone()).or_default().push(push);
    }
    let mut twice = 0;
    for (tag, pushes) in &mut by_tag {
        let is_same = pushes.iter().all(|push| push.text == pushes[0].text && push.to == pushes[0].to);
        if pushes.len() > 2 || !is_same || pushes[0].text.contains("may have been sent") {
            return Err(format!("{tag} arrived {} times, the same: {is_same}", pushes.len()));
        }
        twice += usize::from(pushes.len() > 1);
        pushes.truncate(1);
    }
    let was_taken = matches!(death.at, At::Own(crash::SENT, _) | At::Held { is_taken: true });
    if was_taken && twice == 0 {
        return Err("nothing went out again, though nobody can know whether it went out".to_owned());
    }
    load.check_told(&by_tag.into_values().flatten().collect::<Vec<_>>(), false)
}
