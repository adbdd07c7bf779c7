//! A stream of news through nginx as it comes, but for a short idle timeout: nothing is held back, an idle stream stays open,
//! and a client that lost it to the proxy's death comes back and has missed nothing.

use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use runtime::clock::SteadyStopwatch;
use serde_json::{Value, json};

use crate::{PATIENCE, process::RealProcess, start_house, wait_until};

/// Where Debian has it.
const NGINX: &str = "/usr/sbin/nginx";
/// Seconds for which nginx takes a connection for alive that says nothing; the house says something every 15.
const IDLE_S: u64 = 20;

/// nginx in front of a house.
struct ProxyServer {
    config: PathBuf,
    port: u16,
    child: Child,
}

impl ProxyServer {
    fn start(folder: &Path, house: &RealProcess) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let at = folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String =
            temporary.iter().map(|name| format!("{name}_temp_path {at}/{name};\n")).collect();
        let text = format!(
            "daemon off;\npid {at}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}\
             server {{\nlisten 127.0.0.1:{port};\nlocation / {{ proxy_pass {}; proxy_read_timeout {IDLE_S}s; }}\n}}\n}}\n",
            house.address()?
        );
        let config = folder.join("nginx.conf");
        fs::write(&config, text)?;
        let proxy = Self { child: run_nginx(&config)?, config, port };
        proxy.wait_open()?;
        Ok(proxy)
    }

    fn wait_open(&self) -> Result<()> {
        wait_until(|| Ok(TcpStream::connect(("127.0.0.1", self.port)).is_ok())).context("nginx does not open")
    }

    /// SIGKILL to all of it: its workers hold the connections.
    fn kill(&mut self) -> Result<()> {
        let group = format!("-{}", self.child.id());
        let killed = Command::new("kill").args(["-s", "KILL", "--", &group]).status()?;
        ensure!(killed.success(), "nginx cannot be killed");
        self.child.wait()?;
        Ok(())
    }

    fn start_again(&mut self) -> Result<()> {
        self.child = run_nginx(&self.config)?;
        self.wait_open()
    }
}

impl Drop for ProxyServer {
    fn drop(&mut self) {
        drop(self.kill());
    }
}

fn run_nginx(config: &Path) -> Result<Child> {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(NGINX);
    command.arg("-c").arg(config).stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().context("nginx is missing: on Debian, apt-get install nginx-light")
}

/// What a client hears of a stream.
struct ProxiedStream {
    connection: TcpStream,
    heard: String,
}

impl ProxiedStream {
    fn open(proxy: &ProxyServer, last: Option<&str>) -> Result<Self> {
        let mut connection = TcpStream::connect(("127.0.0.1", proxy.port))?;
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request =
            format!("GET /v1/people/eve/live HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{last}\r\n", proxy.port);
        connection.write_all(request.as_bytes())?;
        connection.set_read_timeout(Some(Duration::from_millis(100)))?;
        Ok(Self { connection, heard: String::new() })
    }

    /// Reads what comes within a time; whether the stream is still open.
    fn read_for(&mut self, time: Duration, is_enough: impl Fn(&str) -> bool) -> Result<bool> {
        let (since, mut bytes) = (SteadyStopwatch::start(), [0; 4_096]);
        while since.elapsed() < time && !is_enough(&self.heard) {
            match self.connection.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(read) => self.heard.push_str(&String::from_utf8_lossy(&bytes[..read])),
                Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// The next event: its id, and how many bundles are new.
    fn next_event(&mut self) -> Result<(String, u64)> {
        let is_there =
            |heard: &str| heard.split_once("\ndata:").is_some_and(|(_, rest)| rest.contains("\n\n"));
        ensure!(self.read_for(PATIENCE, is_there)?, "the stream ended: {}", self.heard);
        let (before, rest) =
            self.heard.split_once("\ndata:").with_context(|| format!("no event: {}", self.heard))?;
        let (data, rest) = rest.split_once('\n').context("no end of the data")?;
        let data: Value = serde_json::from_str(data.trim())?;
        let lines = before.lines().chain(rest.split("\n\n").next().unwrap_or_default().lines());
        let id =
            lines.filter_map(|line| line.strip_prefix("id:")).next_back().context("no id")?.trim().to_owned();
        self.heard = rest.split_once("\n\n").map_or_else(String::new, |(_, rest)| rest.to_owned());
        Ok((id, data["counts"]["new"]["number"].as_u64().context("no count")?))
    }
}

fn publish_work(house: &RealProcess, number: u64) -> Result<()> {
    let data = json!({"title": format!("Work {number}"), "artist": "artist:7", "published": true});
    let event = json!({"id": format!("work-{number}"), "source": "proxy", "type": "artwork.published",
        "subject": format!("artwork:{number}"), "data": data});
    expect_taken(house.post_lines("/v1/changes", &event.to_string())?)
}

fn expect_taken((status, said): (u16, String)) -> Result<()> {
    if status == 202 { Ok(()) } else { bail!("{status}: {said}") }
}

#[test]
fn a_stream_outlives_a_proxy_and_its_patience() {
    let folder = tempfile::tempdir().unwrap();
    let house = start_house(&folder.path().join("house")).unwrap();
    let facts = [
        json!({"id": "p", "source": "proxy", "type": "tidings.profile", "data": {"person": "eve", "zone": "UTC"}}),
        json!({"id": "f", "source": "proxy", "type": "tidings.follow", "data": {"person": "eve", "target": "artist:7"}}),
    ];
    let facts = facts.map(|fact| fact.to_string()).join("\n");
    expect_taken(house.post_lines("/v1/facts", &facts).unwrap()).unwrap();
    let mut proxy = ProxyServer::start(folder.path(), &house).unwrap();

    let mut stream = ProxiedStream::open(&proxy, None).unwrap();
    assert_eq!(stream.next_event().unwrap().1, 0, "it says at once how it is");
    publish_work(&house, 1).unwrap();
    assert_eq!(stream.next_event().unwrap().1, 1, "nothing is held back until there is more");
    let idle = Duration::from_secs(IDLE_S + 5);
    assert!(stream.read_for(idle, |_| false).unwrap(), "an idle stream stays open: {}", stream.heard);
    assert!(stream.heard.contains("\n:"), "by a comment: {}", stream.heard);
    publish_work(&house, 2).unwrap();
    let (last, new) = stream.next_event().unwrap();
    assert_eq!(new, 2);

    proxy.kill().unwrap();
    assert!(!stream.read_for(PATIENCE, |_| false).unwrap(), "the client hears that it lost its stream");
    publish_work(&house, 3).unwrap();
    wait_until(|| {
        let (_, said) = house.get_text("/v1/people/eve/counts", None)?;
        Ok(serde_json::from_str::<Value>(&said)?["new"]["number"] == 3)
    })
    .unwrap();
    proxy.start_again().unwrap();
    let mut back = ProxiedStream::open(&proxy, Some(&last)).unwrap();
    let (last, new) = back.next_event().unwrap();
    assert_eq!(new, 3, "what came while it was away is not missed");
    let mut again = ProxiedStream::open(&proxy, Some(&last)).unwrap();
    again.read_for(Duration::from_secs(3), |_| false).unwrap();
    assert!(!again.heard.contains("\ndata:"), "and nothing is said twice: {}", again.heard);
    publish_work(&house, 4).unwrap();
    assert_eq!((back.next_event().unwrap().1, again.next_event().unwrap().1), (4, 4));
}
