//! The machine on which a page is followed: a folder, a few programs that stand for what only a whole machine has, and free
//! ports for those that the page names.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    net::TcpListener,
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use engines::TestCertificates;
use runtime::clock::SteadyStopwatch;
use tempfile::TempDir;
use tests::markdown::{BlockUse, PageBlock, find_difference, parse_blocks};

/// Folders of a machine that lie in the test's own.
const FOLDERS: [&str; 5] =
    ["/etc/tidings", "/etc/systemd/system", "/etc/nginx", "/var/lib/tidings", "/var/backups/tidings"];
/// How long what stays may take until it has said what the page shows.
const OPENING: Duration = Duration::from_secs(180);
/// How long all of a page may take, in seconds; what stays longer is ended.
const PATIENCE: &str = "300";
const BETWEEN: Duration = Duration::from_millis(100);

pub struct PageMachine {
    folder: TempDir,
    /// What a page says, and what is meant here.
    swaps: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    staying: Vec<(String, Child)>,
    elsewhere: Vec<String>,
    ran: usize,
}

impl PageMachine {
    pub fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("how-to-").tempdir()?;
        let root = folder.path().join("machine");
        let mut swaps = Vec::new();
        for name in FOLDERS {
            let own = root.join(name.trim_start_matches('/'));
            fs::create_dir_all(&own)?;
            swaps.push((name.to_owned(), own.display().to_string()));
        }
        let program = root.join("usr/local/bin/tidings");
        fs::create_dir_all(program.parent().context("no folder")?)?;
        symlink(tests::binary()?, &program)?;
        swaps.push(("/usr/local/bin/tidings".to_owned(), program.display().to_string()));
        fs::create_dir_all(folder.path().join("here"))?;
        Ok(Self {
            folder,
            swaps,
            environment: Vec::new(),
            staying: Vec::new(),
            elsewhere: Vec::new(),
            ran: 0,
        })
    }

    /// Where a page says this, that is meant here.
    pub fn swap(&mut self, said: &str, meant: &str) {
        self.swaps.push((said.to_owned(), meant.to_owned()));
    }

    /// Has all commands find this in their environment.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// The folder in which a reader works.
    pub fn working_folder(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    /// What a page means when it says this.
    pub fn apply_swaps(&self, said: &str) -> String {
        self.swaps.iter().fold(said.to_owned(), |text, (said, meant)| text.replace(said, meant))
    }

    /// Writes a file as another page has it.
    pub fn take(&mut self, page: &str, name: &str) -> Result<()> {
        let text = read_page(page)?;
        self.give_ports(&text)?;
        let found =
            parse_blocks(&text)?.into_iter().find(|block| block.r#use == BlockUse::File(name.to_owned()));
        self.write(name, &found.with_context(|| format!("{page} has no {name}"))?)
    }

    /// Runs something that stands on no page; what it printed.
    pub fn script(&self, script: &str) -> Result<String> {
        let printed = self.folder.path().join("printed");
        let status = self.shell(&self.apply_swaps(script), &printed)?.status()?;
        let printed = self.read_printed(&printed)?;
        ensure!(status.success(), "{status}\n{script}\n{printed}{}", self.read_logs());
        Ok(printed)
    }

    /// Puts a certificate where a page has one.
    pub fn certify(&mut self, folder: &str) -> Result<()> {
        let own = self.folder.path().join("machine/certificates");
        fs::create_dir_all(&own)?;
        let made = TestCertificates::make(&own, &["127.0.0.1"])?;
        // Key and certificate are in one file, which is both.
        fs::copy(&made.nodes_pem, own.join("privkey.pem"))?;
        fs::copy(&made.nodes_pem, own.join("fullchain.pem"))?;
        self.swap(folder, &own.display().to_string());
        Ok(())
    }

    /// Follows a page to its end.
    pub fn follow(&mut self, page: &str) -> Result<()> {
        self.follow_part(page, "", "no such line")
    }

    /// The same, from one line that begins so until another.
    pub fn follow_part(&mut self, page: &str, from: &str, until: &str) -> Result<()> {
        let text = read_page(page)?;
        let mut blocks = parse_blocks(&text).with_context(|| page.to_owned())?;
        self.give_ports(&text)?;
        let line = |begins: &str| text.lines().position(|line| line.starts_with(begins));
        let (from, until) = (line(from).with_context(|| from.to_owned())?, line(until).unwrap_or(usize::MAX));
        blocks.retain(|block| (from..until).contains(&block.line));
        let mut left = blocks.as_slice();
        while let Some((block, rest)) = left.split_first() {
            let shown = rest.first().filter(|next| next.r#use == BlockUse::Shown);
            self.step(block, shown.map(|shown| shown.text.as_str()))
                .with_context(|| format!("docs/how-to/{page}:{}", block.line))?;
            left = rest;
        }
        println!("{page}: {} blocks were run, {} belong elsewhere", self.ran, self.elsewhere.len());
        self.elsewhere.iter().for_each(|why| println!("  {why}"));
        ensure!(self.ran > 0, "{page} has nothing to run");
        Ok(())
    }

    /// A free port for each that the page names and that nobody else has an answer for.
    fn give_ports(&mut self, text: &str) -> Result<()> {
        let mut ports = BTreeSet::new();
        for host in ["localhost:", "127.0.0.1:"] {
            for (at, _) in text.match_indices(host) {
                let digits: String =
                    text[at + host.len()..].chars().take_while(char::is_ascii_digit).collect();
                ports.extend((digits.len() > 1).then_some(digits));
            }
        }
        let known = |port: &String| self.swaps.iter().any(|(said, _)| said.ends_with(&format!(":{port}")));
        ports.retain(|port| !known(port));
        // Held until all are given, so that no two are the same.
        let held: BTreeMap<String, TcpListener> = ports
            .into_iter()
            .map(|port| Ok((port, TcpListener::bind(("127.0.0.1", 0))?)))
            .collect::<Result<_>>()?;
        for (port, listener) in held {
            let own = listener.local_addr()?.port();
            for host in ["localhost", "127.0.0.1"] {
                self.swaps.push((format!("{host}:{port}"), format!("{host}:{own}")));
            }
        }
        Ok(())
    }

    fn step(&mut self, block: &PageBlock, shown: Option<&str>) -> Result<()> {
        match &block.r#use {
            BlockUse::Run(code) => self.run(block, *code, shown),
            BlockUse::Wait => self.wait(block, shown),
            BlockUse::Stay => self.stay(block, shown),
            BlockUse::File(name) => self.write(name, block),
            BlockUse::Elsewhere(why) => {
                self.elsewhere.push(format!("line {}: {why}", block.line));
                Ok(())
            }
            BlockUse::Shown => Ok(()),
        }
    }

    fn run(&mut self, block: &PageBlock, code: i32, shown: Option<&str>) -> Result<()> {
        self.ran += 1;
        let printed = self.folder.path().join("printed");
        let status = self.shell(&self.apply_swaps(&block.text), &printed)?.status()?;
        let printed = self.read_printed(&printed)?;
        ensure!(status.code() == Some(code), "{status}\n{}\n{printed}{}", block.text, self.read_logs());
        compare_output(shown, &printed)
    }

    /// Nothing that is done here may change anything: it may be done any number of times.
    fn wait(&mut self, block: &PageBlock, shown: Option<&str>) -> Result<()> {
        ensure!(shown.is_some(), "nothing is shown that could be waited for");
        let waited = SteadyStopwatch::start();
        let before = self.ran;
        while let Err(error) = self.run(block, 0, shown) {
            ensure!(waited.elapsed() < OPENING, "{error:#}");
            std::thread::park_timeout(BETWEEN);
            self.ran = before;
        }
        Ok(())
    }

    fn stay(&mut self, block: &PageBlock, shown: Option<&str>) -> Result<()> {
        self.ran += 1;
        let name = format!("stays-{}", block.line);
        let printed = self.folder.path().join(&name);
        let child = self.shell(&format!("exec {}", self.apply_swaps(&block.text)), &printed)?.spawn()?;
        self.staying.push((name, child));
        let waited = SteadyStopwatch::start();
        while let Err(error) = compare_output(shown, &self.read_printed(&printed)?) {
            let ended = self.staying.last_mut().map(|(_, child)| child.try_wait()).transpose()?.flatten();
            ensure!(ended.is_none() && waited.elapsed() < OPENING, "{ended:?}: {error:#}");
            std::thread::park_timeout(BETWEEN);
        }
        Ok(())
    }

    fn write(&self, name: &str, block: &PageBlock) -> Result<()> {
        if block.language == "json" {
            serde_json::from_str::<serde_json::Value>(&block.text)?;
        }
        let meant = PathBuf::from(self.apply_swaps(name));
        let path = if meant.is_absolute() { meant } else { self.working_folder().join(meant) };
        fs::create_dir_all(path.parent().context("a file in no folder")?)?;
        fs::write(&path, self.apply_swaps(&block.text)).with_context(|| path.display().to_string())
    }

    /// A shell that says both its outputs into one file, and is the first of a group.
    fn shell(&self, script: &str, printed: &Path) -> Result<Command> {
        let out = fs::File::create(printed)?;
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/machine");
        let binary = tests::binary()?;
        let own = binary.parent().context("a program in no folder")?;
        let path = env::var("PATH").unwrap_or_default();
        let mut command = Command::new("timeout");
        command.args([PATIENCE, "bash", "-euo", "pipefail", "-c", script]).current_dir(self.working_folder());
        command.env("PATH", format!("{}:{}:{path}:/usr/sbin", programs.display(), own.display()));
        command.env("MACHINE", self.folder.path().join("machine"));
        command.env("FOLLOWER", std::process::id().to_string());
        command.env_remove("TIDINGS_FAULT").envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stderr(out.try_clone()?).stdout(out).process_group(0);
        Ok(command)
    }

    /// What was printed, as the page would say it.
    fn read_printed(&self, printed: &Path) -> Result<String> {
        let text = String::from_utf8_lossy(&fs::read(printed)?).into_owned();
        Ok(self.swaps.iter().rev().fold(text, |text, (said, meant)| text.replace(meant, said)))
    }

    /// What those said that were started, for whoever looks for a fault.
    fn read_logs(&self) -> String {
        let staying = self.staying.iter().map(|(name, _)| self.folder.path().join(name));
        let started = fs::read_dir(self.folder.path().join("machine/run")).into_iter().flatten();
        let logs = started.filter_map(|file| file.ok().map(|file| file.path()));
        let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        let mut said = String::new();
        for path in staying.chain(logs) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines[lines.len().saturating_sub(20)..].join("\n");
            said.push_str(&format!("\n--- {}\n{last}\n", path.display()));
        }
        said
    }
}

fn read_page(page: &str) -> Result<String> {
    let path = tests::scenarios::root().join("docs/how-to").join(page);
    fs::read_to_string(path).with_context(|| page.to_owned())
}

fn compare_output(shown: Option<&str>, printed: &str) -> Result<()> {
    match shown.and_then(|shown| find_difference(shown, printed)) {
        None => Ok(()),
        Some(wrong) => bail!("what is shown is not what was printed\n{wrong}"),
    }
}

impl Drop for PageMachine {
    fn drop(&mut self) {
        let run = self.folder.path().join("machine/run");
        let files = fs::read_dir(run).into_iter().flatten().filter_map(|file| file.ok());
        let started =
            files.filter(|file| file.path().extension().is_some_and(|extension| extension == "pid"));
        let pids = started.filter_map(|file| fs::read_to_string(file.path()).ok());
        for pid in pids {
            drop(Command::new("kill").args(["-KILL", pid.trim()]).stderr(Stdio::null()).status());
        }
        for (_, child) in &mut self.staying {
            // The whole group: it is the shell's.
            let group = format!("-{}", child.id());
            drop(Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status());
            drop(child.wait());
        }
    }
}
