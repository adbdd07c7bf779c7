//! What engines are made of: Java, and what Maven and Go fetch once into the folder of build outputs.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result, bail, ensure};

/// Said whenever something to build or run with is missing.
const INSTALL: &str = "apt-get install openjdk-17-jdk-headless maven golang openssl, or `make setup`";
/// Kafka 4 needs it; Cassandra 5 runs on no later one.
pub const JAVA: u32 = 17;

/// Engines of tests live for minutes and share processors with what they serve: Java is to start fast and to compile little.
const FRUGAL: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];
static IS_FULL_SPEED: AtomicBool = AtomicBool::new(false);

const TOXIPROXY: &str = "2.5.0";

/// Engines that this process starts from now on compile as in production: for measurements, and for engines that stay.
pub fn use_full_speed() {
    IS_FULL_SPEED.store(true, Ordering::Relaxed);
}

/// The classes that an engine loads when it starts, in a file from which Java maps them. A start with it takes half as long.
pub enum ClassArchive {
    /// Write it when Java ends.
    Make(PathBuf),
    Use(PathBuf),
}

impl ClassArchive {
    /// Itself, unless it is not there yet.
    pub fn if_made(&self) -> Option<&Self> {
        matches!(self, Self::Use(_)).then_some(self)
    }

    fn java_option(&self) -> OsString {
        match self {
            Self::Make(file) => path_option("-XX:ArchiveClassesAtExit=", file),
            Self::Use(file) => path_option("-XX:SharedArchiveFile=", file),
        }
    }
}

/// An engine as Maven knows it: a list of jars whose version is that of its `pom.xml`.
pub struct EngineJars {
    name: &'static str,
    pom: &'static str,
}

pub const KAFKA: EngineJars = EngineJars { name: "kafka", pom: include_str!("../kafka/pom.xml") };
pub const CASSANDRA: EngineJars = EngineJars { name: "cassandra", pom: include_str!("../cassandra/pom.xml") };
pub const CONNECT: EngineJars = EngineJars { name: "connect", pom: include_str!("../connect/pom.xml") };
pub const REGISTRY: EngineJars = EngineJars { name: "registry", pom: include_str!("../registry/pom.xml") };

impl EngineJars {
    /// The folder with everything the engine needs, fetched if it is not there yet.
    pub fn folder(&self) -> Result<PathBuf> {
        fill_once(&self.versioned_name()?, self.pom, |folder| {
            let pom = folder.join("pom.xml");
            fs::write(&pom, self.pom)?;
            let mut maven = Command::new("mvn");
            maven.args(["-B", "-q", "dependency:copy-dependencies", "-f"]).arg(&pom);
            run_command(maven.arg(path_option("-DoutputDirectory=", folder)))?;
            for file in fs::read_dir(folder)? {
                let file = file?.path();
                if file.extension() == Some(OsStr::new("gz")) {
                    run_command(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(folder))?;
                    fs::remove_file(file)?;
                }
            }
            Ok(())
        })
    }

    fn versioned_name(&self) -> Result<String> {
        let version = self.pom.split_once("<version>").and_then(|(_, rest)| rest.split_once("</version>"));
        let (version, _) = version.with_context(|| format!("the pom.xml of {} has no version", self.name))?;
        Ok(format!("{}-{version}", self.name))
    }

    /// Java with all jars; what to run comes after that.
    pub fn java_command(&self, heap: &str, classes: Option<&ClassArchive>) -> Result<Vec<OsString>> {
        let mut command: Vec<OsString> = vec![find_java()?.0.into(), heap.into()];
        if !IS_FULL_SPEED.load(Ordering::Relaxed) {
            command.extend(FRUGAL.map(OsString::from));
        }
        command.extend(classes.map(ClassArchive::java_option));
        command.extend(["-cp".into(), self.folder()?.join("*").into()]);
        Ok(command)
    }

    /// The engine's class archive, made if it is not there yet by a run that starts the engine and ends it.
    pub fn class_archive(&self, run: impl FnOnce(&ClassArchive) -> Result<()>) -> Result<ClassArchive> {
        let recipe = format!("{}{}", self.pom, run_command(Command::new(java_path()).arg("--version"))?);
        let file = |folder: &Path| folder.join("classes.jsa");
        let folder = fill_once(&format!("{}-classes", self.versioned_name()?), &recipe, |folder| {
            run(&ClassArchive::Make(file(folder)))?;
            ensure!(file(folder).exists(), "Java has written no archive of classes");
            Ok(())
        })?;
        Ok(ClassArchive::Use(file(&folder)))
    }
}

/// The toxiproxy server, built if it is not there yet. The version is one that Debian's own Go can build.
pub fn toxiproxy_path() -> Result<PathBuf> {
    let folder = fill_once(&format!("toxiproxy-{TOXIPROXY}"), TOXIPROXY, |folder| {
        let source = format!("github.com/Shopify/toxiproxy/v2/cmd/server@v{TOXIPROXY}");
        run_command(Command::new("go").args(["install", &source]).env("GOBIN", folder)).map(drop)
    })?;
    Ok(folder.join("server"))
}

fn java_path() -> PathBuf {
    env::var_os("JAVA_HOME").map_or("java".into(), |home| Path::new(&home).join("bin/java"))
}

/// The Java to run with, and its major version.
pub fn find_java() -> Result<(PathBuf, u32)> {
    let java = java_path();
    let said = run_command(Command::new(&java).args(["--version"]))?;
    let version = said.split_whitespace().nth(1).unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    let major = major.with_context(|| format!("{} says it is version {version:?}", java.display()))?;
    ensure!(major >= JAVA, "Java {JAVA} is needed, this is {version}: {INSTALL}");
    Ok((java, major))
}

/// Runs a command to its end; what it printed.
pub fn run_command(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("{program} is missing: {INSTALL}"),
        output => output.with_context(|| format!("cannot run {program}"))?,
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} failed: {}{}", last_lines(&said), last_lines(&complaint));
    Ok(said.into_owned())
}

/// The end of a long text, where programs say why they stopped.
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// An option whose value is a path.
pub fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

/// A folder among the build outputs that is filled once. What was broken off is done again, and so is what was
/// made by another recipe; of two processes one waits for the other.
fn fill_once(name: &str, recipe: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let engines = workspace.join(target).join("engines");
    fs::create_dir_all(&engines).with_context(|| format!("cannot make {}", engines.display()))?;
    let engines = engines.canonicalize()?;
    let (folder, complete) = (engines.join(name), engines.join(name).join("complete"));
    let lock = File::create(engines.join(format!("{name}.lock")))?;
    lock.lock()?;
    if fs::read_to_string(&complete).is_ok_and(|made_by| made_by == recipe) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir(&folder)?;
    fill(&folder).with_context(|| format!("cannot fetch {name}"))?;
    fs::write(complete, recipe)?;
    Ok(folder)
}

pub fn project_root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A folder of the build outputs that was made of this, as its note says; made by what it is missing says.
pub fn built_folder(folder: &str, note: &str, of: &str) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let folder = Path::new(&target).join(folder);
    let environment = project_root().join(&folder);
    ensure!(
        fs::read_to_string(environment.join(note)).unwrap_or_default() == of,
        "{} is missing or out of date: `setup/prepare.sh test` makes it",
        folder.display()
    );
    Ok(environment)
}
