//! The peer of the bench of feeds: MediaWiki's Echo, as far as it is a database. Its tables, its indexes and its queries, in
//! MariaDB with the same data; what PHP makes of the rows costs it nothing here.

use std::{
    env,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use model::UtcMillis;

use crate::feed_load::{FeedLoad, PERSONS};

const SCHEMA: &str = include_str!("../peers/echo/schema.sql");
const HOW: &str = "MariaDB is missing: on Debian, apt-get install mariadb-server";
/// Where Debian has servers.
const SERVERS: &str = "/usr/sbin";
const LOOKS: usize = 300;
const LOOK: Duration = Duration::from_millis(100);
/// Bundles of the overlay; one more is read, to know whether there are more.
const BUNDLES: usize = 10;
/// Unread ones are read up to this, and those who did it up to that.
const UNREAD_MAX: usize = 100;
const OTHERS_MAX: usize = 500;
const TYPES: &str = "'edit-user-talk','edit-thank','user-rights','emailuser','edited'";

/// A server of its own, ended when it is dropped.
pub struct EchoPeer {
    folder: PathBuf,
    server: Child,
}

impl EchoPeer {
    /// Starts a server in a folder, and waits until it answers.
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        let data = folder.join("data");
        let install = find_program("mariadb-install-db")?;
        run(Command::new(install)
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", data.display()))
            .arg("--user=root"))?;
        let server = Command::new(find_program("mariadbd")?)
            .args(["--no-defaults", "--user=root", "--skip-networking", "--innodb-buffer-pool-size=2G"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", folder.join("socket").display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start MariaDB")?;
        let peer = Self { folder: folder.to_owned(), server };
        for _ in 0..LOOKS {
            if peer.client("mariadb-admin")?.arg("ping").output().is_ok_and(|said| said.status.success()) {
                return Ok(peer);
            }
            std::thread::park_timeout(LOOK);
        }
        bail!("MariaDB does not answer")
    }

    fn client(&self, program: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(find_program(program)?);
        command.args(["--no-defaults", "--user=root"]);
        command.arg(format!("--socket={}", self.folder.join("socket").display()));
        Ok(command)
    }

    /// Runs statements; what they print.
    fn query(&self, statements: &str) -> anyhow::Result<String> {
        let mut client = self.client("mariadb")?;
        client.args(["--batch", "--skip-column-names", "--local-infile=1"]);
        let mut client =
            client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        client.stdin.take().context("its input")?.write_all(statements.as_bytes())?;
        let said = client.wait_with_output()?;
        ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr).trim());
        Ok(String::from_utf8(said.stdout)?)
    }

    /// Writes what the persons have. The newest of each bundle stands for it, and the hash is that of one visit.
    pub fn fill(&self, load: &FeedLoad) -> anyhow::Result<()> {
        let (mut events, mut notes) = (String::new(), String::new());
        for person in 0..PERSONS {
            let mut seen = std::collections::BTreeSet::new();
            let mut newest: Vec<usize> = (0..load.entries()).collect();
            let mut times = Vec::with_capacity(newest.len());
            for number in 0..load.entries() {
                times.push(load.occurred(number)?);
            }
            newest.sort_unstable_by_key(|number| std::cmp::Reverse(times[*number]));
            for number in newest {
                let (page, at) = (load.page(person, number), stamp(times[number]));
                let event = person * load.entries() + load.entries() - number;
                let base = u8::from(seen.insert(page));
                writeln!(events, "{event}\tedited\t{}\t\\N\tPage {page}", load.editor(number))?;
                writeln!(notes, "{event}\t{person}\t{at}\t\\N\t{base}\t{page:032x}\t{page:032x}")?;
            }
        }
        let files = [("echo_event", events), ("echo_notification", notes)];
        let mut statements = format!("CREATE DATABASE echo; USE echo; {SCHEMA}");
        for (table, rows) in files {
            let file = self.folder.join(table);
            fs::write(&file, rows)?;
            write!(statements, "LOAD DATA LOCAL INFILE '{}' INTO TABLE {table};", file.display())?;
        }
        statements.push_str("ANALYZE TABLE echo_event, echo_notification;");
        self.query(&statements).map(drop)
    }

    /// The titles of the first page, as its list has them.
    pub fn first_page(&self, person: usize) -> anyhow::Result<Vec<String>> {
        let listed = list_query("event_page_title, HEX(notification_bundle_display_hash)", person);
        let rows = self.query(&format!("USE echo; {listed};"))?;
        Ok(rows.lines().take(BUNDLES).filter_map(|row| row.split('\t').next()).map(str::to_owned).collect())
    }

    /// How long so many pages take, by so many connections: of each the list, the others of ten bundles, and the unread ones.
    pub fn time_pages(&self, load: &FeedLoad, pages: usize, at_once: usize) -> anyhow::Result<Duration> {
        let mut queries = Vec::new();
        for person in 0..PERSONS {
            queries.push(list_query("*", person));
            for (page, _) in load.first_page(person, BUNDLES)? {
                let page: usize = page.trim_start_matches("work:").parse()?;
                queries.push(format!(
                    "SELECT event_agent_id, event_agent_ip FROM echo_notification, echo_event WHERE notification_event = event_id \
                     AND notification_user = {person} AND notification_bundle_base = 0 AND notification_bundle_display_hash = \
                     '{page:032x}' ORDER BY notification_timestamp DESC LIMIT {OTHERS_MAX}"
                ));
            }
            queries.push(format!(
                "SELECT notification_event FROM echo_notification LEFT JOIN echo_event ON notification_event = event_id WHERE \
                 notification_user = {person} AND notification_bundle_base = 1 AND notification_read_timestamp IS NULL AND \
                 event_type IN ({TYPES}) LIMIT {UNREAD_MAX}"
            ));
        }
        let of_page = BUNDLES + 2;
        let file = self.folder.join("pages.sql");
        fs::write(&file, queries.join(";\n"))?;
        let mut slap = self.client("mariadb-slap")?;
        slap.args(["--create-schema=echo", "--no-drop", "--delimiter=;", "--iterations=1"]);
        slap.arg(format!("--query={}", file.display())).arg(format!("--concurrency={at_once}"));
        slap.arg(format!("--number-of-queries={}", pages * of_page));
        let said = slap.output().context("start mariadb-slap")?;
        ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr).trim());
        let said = String::from_utf8(said.stdout)?;
        let line =
            said.lines().find(|line| line.contains("Average number of seconds")).context("its time")?;
        let seconds =
            line.split_whitespace().find_map(|word| word.parse::<f64>().ok()).context("its time")?;
        Ok(Duration::from_secs_f64(seconds))
    }
}

impl Drop for EchoPeer {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

fn list_query(columns: &str, person: usize) -> String {
    format!(
        "SELECT {columns} FROM echo_notification LEFT JOIN echo_event ON notification_event = event_id WHERE notification_user = \
         {person} AND event_type IN ({TYPES}) AND notification_bundle_base = 1 ORDER BY notification_timestamp DESC, \
         notification_event DESC LIMIT {}",
        BUNDLES + 1
    )
}

/// As MediaWiki writes instants.
fn stamp(at: UtcMillis) -> String {
    at.to_string().chars().filter(char::is_ascii_digit).take(14).collect()
}

fn find_program(name: &str) -> anyhow::Result<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&paths).chain([PathBuf::from(SERVERS)]);
    folders.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file())).context(HOW)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let said = command.stdin(Stdio::null()).output().with_context(|| format!("start {command:?}"))?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr).trim());
    Ok(())
}
