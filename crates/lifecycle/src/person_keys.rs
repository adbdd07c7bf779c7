//! The public keys of the logins that say who a person is: read at the start of a process, and kept fresh beside its house.
//!
//! A file is read again when it looks otherwise. A URL is asked every few minutes, and at once when a token names a key that
//! nobody knows, since a login may sign with a new key as soon as it shows it; whoever makes up names of keys does not have
//! us ask more often than that. Keys stay until newer ones are good. A login whose keys could not be read yet does not keep
//! the process from starting: the house has more to do than to answer its persons, and they are told to come again.

use std::{
    collections::BTreeSet,
    io::Read as _,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, anyhow, ensure};
use futures::future::join_all;
use geoip::FileStamp;
use house::RoomName;
use http_agent::build_agent;
use runtime::{clock::Clock, metrics::Metrics};
use settings::config::{Config, PersonKeySource, PersonTokenConfig};
use tokio::{
    sync::Notify,
    task::{AbortHandle, spawn_blocking},
    time::{interval, sleep, timeout},
};
use web::{
    limits::PERSON_KEY_SET_BYTES_MAX,
    person_access::{PersonAccess, PersonIssuer},
    person_token::PersonKeySet,
};

use crate::metrics::PersonKeyMetrics;

/// How often files are looked at, and whether a URL is due; and how soon again at least.
const LOOK: Duration = Duration::from_secs(2);
const LOOK_MIN: Duration = Duration::from_millis(200);
/// How often a URL is asked, and how often at most.
const ASK_MS: i64 = 5 * 60 * 1_000;
const ASK_MS_MIN: i64 = 30 * 1_000;
/// For how long it may answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// A start waits for so long for keys, so that the first persons are not sent away.
const START_TIME_MAX: Duration = Duration::from_secs(6);

/// What a process has of them.
pub struct PersonKeySetup {
    /// As the paths have it.
    pub access: PersonAccess,
    keeper: Arc<PersonKeyKeeper>,
    looks: AbortHandle,
}

/// Keeps keys fresh.
struct PersonKeyKeeper {
    access: PersonAccess,
    clock: Clock,
    metrics: PersonKeyMetrics,
    logins: Mutex<Vec<Arc<PersonLogin>>>,
    /// Rings when they are others.
    replaced: Notify,
}

/// A login, and when its keys were looked at.
struct PersonLogin {
    config: PersonTokenConfig,
    issuer: Arc<PersonIssuer>,
    look: Mutex<KeyLook>,
}

/// The last look at the keys of a login.
#[derive(Clone, Default)]
struct KeyLook {
    /// When a URL was asked last, by the clock's steady time.
    asked: Option<i64>,
    /// The file as it was seen last, whether or not it was good.
    seen: Option<FileStamp>,
    /// What was read last that was good.
    bytes: Vec<u8>,
    /// Why the last look was not.
    failure: Option<String>,
}

/// The logins of a configuration, where somebody asks for what is of a person.
fn list_logins(config: &Config, rooms: &BTreeSet<RoomName>) -> Vec<PersonTokenConfig> {
    let asks = rooms.contains(&RoomName::Feed);
    config.person_tokens.iter().filter(|_| asks).cloned().collect()
}

impl PersonKeySetup {
    /// Reads what is there, and looks at it from here on.
    pub async fn open(
        config: &Config,
        rooms: &BTreeSet<RoomName>,
        clock: &Clock,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let metrics = PersonKeyMetrics::declare(metrics)?;
        let keeper = Arc::new(PersonKeyKeeper::new(clock, metrics));
        keeper.replace(list_logins(config, rooms));
        // Whoever does not answer by then is asked again.
        drop(timeout(START_TIME_MAX, keeper.look()).await);
        let looks = tokio::spawn(keeper.clone().keep_fresh()).abort_handle();
        Ok(Self { access: keeper.access.clone(), keeper, looks })
    }

    /// Uses the logins of a configuration from here on. Who was there before keeps the keys.
    pub fn replace(&self, config: &Config, rooms: &BTreeSet<RoomName>) {
        self.keeper.replace(list_logins(config, rooms));
    }
}

impl Drop for PersonKeySetup {
    fn drop(&mut self) {
        self.looks.abort();
    }
}

impl PersonKeyKeeper {
    fn new(clock: &Clock, metrics: PersonKeyMetrics) -> Self {
        let (access, logins, replaced) = Default::default();
        Self { access, clock: clock.clone(), metrics, logins, replaced }
    }

    fn replace(&self, configs: Vec<PersonTokenConfig>) {
        let mut logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |config: PersonTokenConfig| {
            let same = logins.iter().find(|login| login.has_keys_of(&config));
            match same {
                Some(same) if same.config == config => same.clone(),
                Some(same) => Arc::new(same.with_config(config)),
                None => Arc::new(PersonLogin::new(config)),
            }
        };
        *logins = configs.into_iter().map(find).collect();
        self.access.replace(logins.iter().map(|login| login.issuer.clone()).collect());
        self.replaced.notify_one();
    }

    async fn keep_fresh(self: Arc<Self>) {
        let mut looks = interval(LOOK);
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = self.access.wait_for_missed_key() => {}
                () = self.replaced.notified() => {}
            }
            self.look().await;
            // Whoever names keys that nobody knows does not have us look without end.
            sleep(LOOK_MIN).await;
        }
    }

    /// Looks at all logins that are due, at once: one that does not answer keeps the others waiting for a moment only.
    async fn look(&self) {
        let logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner).clone();
        join_all(logins.iter().map(|login| self.look_at(login))).await;
    }

    async fn look_at(&self, login: &Arc<PersonLogin>) {
        let due = login.clone();
        let now = self.clock.steady();
        let read = spawn_blocking(move || due.read_if_due(now)).await.context("read keys");
        match read.and_then(Option::transpose) {
            Ok(None) => {}
            Ok(Some(bytes)) => self.take_up(login, bytes),
            Err(error) => self.note_failure(login, &error),
        }
    }

    fn take_up(&self, login: &PersonLogin, bytes: Vec<u8>) {
        let mut look = login.look.lock().unwrap_or_else(PoisonError::into_inner);
        if look.bytes == bytes {
            look.failure = None;
            return self.metrics.count("unchanged");
        }
        match PersonKeySet::parse(&bytes) {
            Ok(keys) => {
                let (tenant, issuer) = (&login.config.tenant, &login.config.issuer);
                tracing::info!(%tenant, issuer, keys = keys.count(), "the keys of a login are in use");
                login.issuer.replace_keys(Arc::new(keys));
                (look.bytes, look.failure) = (bytes, None);
                self.metrics.count("taken");
            }
            Err(why) => {
                drop(look);
                self.note_failure(login, &anyhow!(why));
            }
        }
    }

    /// Warns once of each trouble, not at each look.
    fn note_failure(&self, login: &PersonLogin, error: &anyhow::Error) {
        self.metrics.count("failed");
        let mut look = login.look.lock().unwrap_or_else(PoisonError::into_inner);
        let error = format!("{error:#}");
        if look.failure.replace(error.clone()).as_ref() != Some(&error) {
            let (tenant, issuer) = (&login.config.tenant, &login.config.issuer);
            tracing::warn!(%tenant, issuer, error, "the keys of a login cannot be read; those before stay in use");
        }
    }
}

impl PersonLogin {
    fn new(config: PersonTokenConfig) -> Self {
        let PersonTokenConfig { tenant, issuer, audience, origins, .. } = config.clone();
        let issuer = Arc::new(PersonIssuer::new(tenant, issuer, audience, origins));
        Self { config, issuer, look: Mutex::default() }
    }

    /// Whether a configuration is of the same login, with the same keys.
    fn has_keys_of(&self, other: &PersonTokenConfig) -> bool {
        let PersonTokenConfig { tenant, issuer, audience, keys, origins: _ } = &self.config;
        (tenant, issuer, audience, keys) == (&other.tenant, &other.issuer, &other.audience, &other.keys)
    }

    /// The same login, with its keys and other sites.
    fn with_config(&self, config: PersonTokenConfig) -> Self {
        let look = self.look.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let other = Self { look: Mutex::new(look), ..Self::new(config) };
        if let Some(keys) = self.issuer.keys() {
            other.issuer.replace_keys(keys);
        }
        other
    }

    /// What the source holds, if it is time to look.
    fn read_if_due(&self, now: i64) -> Option<anyhow::Result<Vec<u8>>> {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.config.keys {
            PersonKeySource::File(path) => {
                let found = FileStamp::of_file(path);
                let is_new = look.seen.replace(found) != Some(found);
                is_new.then(|| read_file(path))
            }
            PersonKeySource::Url(url) => {
                let passed = look.asked.map(|asked| now.saturating_sub(asked));
                let wanted =
                    if self.issuer.has_missed_key() || look.bytes.is_empty() { ASK_MS_MIN } else { ASK_MS };
                if passed.is_some_and(|passed| passed < wanted) {
                    return None;
                }
                look.asked = Some(now);
                drop(look);
                self.issuer.take_missed_key();
                Some(ask_url(url))
            }
        }
    }
}

fn read_file(path: &PathBuf) -> anyhow::Result<Vec<u8>> {
    let file = std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?;
    let mut bytes = Vec::new();
    let most = u64::try_from(PERSON_KEY_SET_BYTES_MAX)?.saturating_add(1);
    file.take(most).read_to_end(&mut bytes).with_context(|| format!("read {}", path.display()))?;
    ensure!(bytes.len() <= PERSON_KEY_SET_BYTES_MAX, "{} is too large", path.display());
    Ok(bytes)
}

fn ask_url(url: &str) -> anyhow::Result<Vec<u8>> {
    let mut answer =
        build_agent(None, ANSWER_TIME_MAX)?.get(url).call().with_context(|| format!("ask {url}"))?;
    let status = answer.status();
    ensure!(status.as_u16() == 200, "{url} answers {status}");
    let most = u64::try_from(PERSON_KEY_SET_BYTES_MAX)?;
    answer.body_mut().with_config().limit(most).read_to_vec().with_context(|| format!("read {url}"))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read as _, Write as _},
        net::TcpListener,
        path::Path,
        thread,
    };

    use model::{Tenant, UtcMillis};
    use web::testing::TestLogin;

    use super::*;

    const NOW: UtcMillis = UtcMillis(1_800_000_000_000);

    /// What keeps the keys of one login, without a loop: a test looks itself.
    struct KeptLogin {
        keeper: PersonKeyKeeper,
        metrics: Metrics,
        clock: Clock,
    }

    impl KeptLogin {
        fn new(keys: PersonKeySource) -> Self {
            let (metrics, clock) = (Metrics::default(), Clock::still(NOW.0));
            let counts = PersonKeyMetrics::declare(&metrics).unwrap();
            let keeper = PersonKeyKeeper::new(&clock, counts);
            keeper.replace(vec![login("main", keys)]);
            Self { keeper, metrics, clock }
        }

        /// Looks once; then which of some logins' tokens are good, and what was counted by then.
        async fn look(&self, expected: &[u8], [taken, unchanged, failed]: [u8; 3]) {
            self.keeper.look().await;
            for number in 1..=3 {
                let token = TestLogin::new(number).sign("ann", NOW);
                let is_good = self.keeper.access.verify(&token, NOW).is_ok();
                assert_eq!(is_good, expected.contains(&number), "{number}");
            }
            for (outcome, count) in [("taken", taken), ("unchanged", unchanged), ("failed", failed)] {
                let name = "tidings_person_keys_loads_total";
                let found = self.metrics.sum_values(name, Some(("outcome", outcome)));
                assert!((found - f64::from(count)).abs() < 0.5, "{outcome}: {found}");
            }
        }
    }

    fn login(tenant: &str, keys: PersonKeySource) -> PersonTokenConfig {
        PersonTokenConfig {
            tenant: Tenant::new(tenant).unwrap(),
            issuer: TestLogin::ISSUER.to_owned(),
            audience: "tidings".to_owned(),
            keys,
            origins: Vec::new(),
        }
    }

    #[tokio::test]
    async fn a_file_is_read_again_when_it_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        // One that replaces another does so at once, and looks otherwise.
        let write = |text: &str| {
            let next = dir.path().join("next");
            fs::write(&next, text).unwrap();
            fs::rename(&next, &path).unwrap();
        };
        let kept = KeptLogin::new(PersonKeySource::File(path.clone()));
        kept.look(&[], [0, 0, 1]).await;
        kept.look(&[], [0, 0, 1]).await;
        write(&TestLogin::new(1).key_set());
        kept.look(&[1], [1, 0, 1]).await;
        kept.look(&[1], [1, 0, 1]).await;
        write(&(TestLogin::new(2).key_set() + " "));
        kept.look(&[2], [2, 0, 1]).await;
        // What is none leaves everything as it is, and so does a file that goes.
        write("{\"keys\": []}");
        kept.look(&[2], [2, 0, 2]).await;
        write(&" ".repeat(PERSON_KEY_SET_BYTES_MAX + 1));
        kept.look(&[2], [2, 0, 3]).await;
        fs::remove_file(&path).unwrap();
        kept.look(&[2], [2, 0, 4]).await;
        write(&(TestLogin::new(2).key_set() + " "));
        kept.look(&[2], [2, 1, 4]).await;
    }

    /// A server that gives these answers, one after the other, and then none.
    fn serve(answers: Vec<(&'static str, String)>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        thread::spawn(move || {
            for (head, body) in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _read = stream.read(&mut [0; 4_096]).unwrap();
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                // Whoever has heard enough hangs up.
                let _sent = stream.write_all((head + &body).as_bytes());
            }
        });
        url
    }

    #[tokio::test]
    async fn a_url_is_asked_now_and_then_and_for_a_key_that_nobody_knows() {
        let keys = |number: u8| TestLogin::new(number).key_set();
        let answers = vec![
            ("503 Away", String::new()),
            ("200 OK", keys(1)),
            ("200 OK", keys(2)),
            ("200 OK", keys(2)),
            ("302 Found\r\nlocation: http://127.0.0.1:1/", keys(3)),
            ("200 OK", "<html>".to_owned()),
            ("200 OK", " ".repeat(PERSON_KEY_SET_BYTES_MAX + 1)),
        ];
        let kept = KeptLogin::new(PersonKeySource::Url(serve(answers)));
        kept.look(&[], [0, 0, 1]).await;
        // Without keys it is asked soon, and not at once.
        kept.look(&[], [0, 0, 1]).await;
        kept.clock.advance(ASK_MS_MIN);
        kept.look(&[1], [1, 0, 1]).await;
        // The look before has tried tokens by others: they are asked for, but not at once.
        kept.look(&[1], [1, 0, 1]).await;
        kept.clock.advance(ASK_MS_MIN);
        kept.look(&[2], [2, 0, 1]).await;
        kept.clock.advance(ASK_MS);
        kept.look(&[2], [2, 1, 1]).await;
        for failed in 2..=5 {
            // The last one finds nobody there.
            kept.clock.advance(ASK_MS);
            kept.look(&[2], [2, 1, failed]).await;
        }
    }

    #[test]
    fn a_url_is_not_asked_before_it_is_time() {
        let login = PersonLogin::new(login("main", PersonKeySource::Url("http://127.0.0.1:1/".to_owned())));
        let is_asked = |now: i64| login.read_if_due(now).is_some();
        assert!(is_asked(0));
        login.look.lock().unwrap().bytes = b"{}".to_vec();
        assert!(!is_asked(ASK_MS - 1));
        assert!(is_asked(ASK_MS));
        let access = PersonAccess::new(vec![login.issuer.clone()]);
        login
            .issuer
            .replace_keys(Arc::new(PersonKeySet::parse(TestLogin::new(1).key_set().as_bytes()).unwrap()));
        assert!(access.verify(&TestLogin::new(1).sign("ann", NOW), NOW).is_ok());
        assert!(!is_asked(ASK_MS + ASK_MS_MIN));
        assert!(access.verify(&TestLogin::new(2).sign("ann", NOW), NOW).is_err());
        assert!(!is_asked(ASK_MS + ASK_MS_MIN - 1));
        assert!(is_asked(ASK_MS + ASK_MS_MIN));
        assert!(!is_asked(ASK_MS + 2 * ASK_MS_MIN), "nobody has named an unknown key since");
    }

    #[tokio::test]
    async fn a_login_that_stays_keeps_its_keys() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        fs::write(&path, TestLogin::new(1).key_set()).unwrap();
        let file = |path: &Path| PersonKeySource::File(path.to_owned());
        let kept = KeptLogin::new(file(&path));
        kept.look(&[1], [1, 0, 0]).await;
        fs::remove_file(&path).unwrap();
        let other = PersonTokenConfig { audience: "other".to_owned(), ..login("b", file(&path)) };
        kept.keeper.replace(vec![other, login("main", file(&path))]);
        assert_eq!(kept.keeper.access.issuers().len(), 2);
        assert!(kept.keeper.access.verify(&TestLogin::new(1).sign("ann", NOW), NOW).is_ok());
        // Also with other sites.
        let origins = vec!["https://shop.example".to_owned()];
        kept.keeper.replace(vec![PersonTokenConfig { origins, ..login("main", file(&path)) }]);
        assert!(kept.keeper.access.lists_origin("https://shop.example"));
        assert!(kept.keeper.access.verify(&TestLogin::new(1).sign("ann", NOW), NOW).is_ok());
        kept.keeper.replace(Vec::new());
        assert!(!kept.keeper.access.has_issuers());
    }
}
