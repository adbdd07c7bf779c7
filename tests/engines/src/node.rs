//! One process of an engine, with a folder of its own. Both end with us, however we end.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::tools::last_lines;

/// The keeper of a process. It is asked word by word, and answers each with yes or no. When the words end,
/// since we ended, it ends the process and removes the folder; it does so even if we were killed.
const KEEPER: &str = r#"
folder=$1; shift; child=
while read -r word; do
  answer=yes
  case $word in
    start) "$@" </dev/null >>"$folder/log" 2>&1 & child=$! ;;
    alive) [ -e "/proc/$child/exe" ] || answer=no ;;
    *) kill -"$word" "$child" || answer=no ;;
  esac
  case $word in
    KILL) wait "$child"; child= ;;
    # Some threads go on for a moment; who asked may count on all standing still.
    STOP) while cat "/proc/$child/task/"*/stat | grep -qv ') T '; do sleep 0.01; done ;;
  esac
  echo "$answer"
done
[ -z "$child" ] || { kill -KILL "$child"; wait "$child"; }
# Whoever wrote there may need a moment to be gone.
for pause in 1 5 20; do rm -rf "$folder" && break; sleep "$pause"; done
"#;

/// How long a process may take until it is ready. Machines that build beside are slow.
const PATIENCE: Duration = Duration::from_secs(400);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A folder for a node.
pub fn node_folder(engine: &str) -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix(&format!("tidings-{engine}-")).tempdir()?)
}

pub struct EngineNode {
    folder: PathBuf,
    /// What its log says when it is ready.
    ready: &'static str,
    /// Where it listens by then; some say so a moment before.
    address: Option<String>,
    keeper: Mutex<NodeKeeper>,
}

struct NodeKeeper {
    shell: Child,
    /// Given away at the end, to end the keeper.
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Where the log of this start begins.
    log_from: usize,
}

impl EngineNode {
    /// A process that is not started yet. From here on its keeper removes the folder.
    pub fn new(folder: TempDir, command: Vec<OsString>, ready: &'static str) -> Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", KEEPER, "keeper"]).arg(folder.path()).args(command).current_dir(folder.path());
        // A group of its own: Ctrl-C in a terminal is for us, and reaches the keeper by our end.
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().context("cannot run /bin/sh")?;
        let words = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().context("the keeper has no answers")?);
        let keeper = Mutex::new(NodeKeeper { shell, words, answers, log_from: 0 });
        Ok(Self { folder: folder.keep(), ready, address: None, keeper })
    }

    /// The same, and ready is who also listens there.
    pub fn listening_at(self, address: String) -> Self {
        Self { address: Some(address), ..self }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the process and does not wait for it.
    pub fn start(&self) -> Result<()> {
        let mut keeper = self.keeper();
        ensure!(!keeper.says_yes("alive")?, "it runs already");
        keeper.log_from = self.log().len();
        keeper.says_yes("start").map(drop)
    }

    /// Waits until the process is ready.
    pub fn wait_ready(&self) -> Result<()> {
        let listens = || self.address.as_ref().is_none_or(|address| TcpStream::connect(address).is_ok());
        self.wait_for(|| self.has_logged(self.ready) && listens())
    }

    /// Its log since it was started last.
    pub fn log_since_start(&self) -> String {
        let from = self.keeper().log_from;
        self.log().get(from..).unwrap_or_default().to_owned()
    }

    /// Whether its log has these words since it was started last.
    pub fn has_logged(&self, words: &str) -> bool {
        self.log_since_start().contains(words)
    }

    /// How often it has said these words since it was started last.
    pub fn times_logged(&self, words: &str) -> usize {
        self.log_since_start().matches(words).count()
    }

    /// Waits until this is so, as long as the process runs.
    pub fn wait_for(&self, ready: impl Fn() -> bool) -> Result<()> {
        self.wait_until_so(|| {
            let is_ready = ready();
            ensure!(is_ready || self.is_alive()?, "it ended: {}", last_lines(&self.log()));
            Ok(is_ready)
        })
    }

    #[allow(clippy::disallowed_methods, reason = "it waits for a process of the machine, by its clock")]
    fn wait_until_so(&self, is_so: impl Fn() -> Result<bool>) -> Result<()> {
        let start = Instant::now();
        while !is_so()? {
            if start.elapsed() > PATIENCE {
                bail!("not ready after {} s: {}", PATIENCE.as_secs(), last_lines(&self.log()));
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    /// Kills it without a warning, and waits until it is gone. Its folder stays.
    pub fn kill(&self) -> Result<()> {
        self.signal("KILL")
    }

    /// Asks it to end, and waits until it has.
    pub fn end(&self) -> Result<()> {
        self.signal("TERM")?;
        self.wait_until_so(|| Ok(!self.is_alive()?))
    }

    /// Makes it stand still, as a machine that swaps or a network that swallows.
    pub fn pause(&self) -> Result<()> {
        self.signal("STOP")
    }

    pub fn resume(&self) -> Result<()> {
        self.signal("CONT")
    }

    pub fn is_alive(&self) -> Result<bool> {
        self.keeper().says_yes("alive")
    }

    fn keeper(&self) -> MutexGuard<'_, NodeKeeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, name: &str) -> Result<()> {
        let done = self.keeper().says_yes(name)?;
        ensure!(done, "it does not run");
        Ok(())
    }

    fn log(&self) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl NodeKeeper {
    fn says_yes(&mut self, word: &str) -> Result<bool> {
        let words = self.words.as_mut().context("the keeper has gone")?;
        writeln!(words, "{word}").context("the keeper does not listen")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context("the keeper does not answer")?;
        Ok(answer == "yes\n")
    }
}

impl Drop for NodeKeeper {
    fn drop(&mut self) {
        drop(self.words.take());
        // Whoever drops an engine may count on its being gone.
        self.shell.wait().ok();
    }
}

/// What several nodes have in common. Nodes are counted from 0.
pub trait EngineCluster {
    fn nodes(&self) -> &[EngineNode];

    fn node(&self, number: usize) -> Result<&EngineNode> {
        self.nodes().get(number).with_context(|| format!("there is no node {number}"))
    }

    /// See [`EngineNode::kill`].
    fn kill(&self, node: usize) -> Result<()> {
        self.node(node)?.kill()
    }

    /// Starts a killed node again, at its addresses and with its data, and waits until it is ready.
    fn start_again(&self, node: usize) -> Result<()> {
        self.node(node)?.start()?;
        self.node(node)?.wait_ready()
    }

    /// See [`EngineNode::pause`].
    fn pause(&self, node: usize) -> Result<()> {
        self.node(node)?.pause()
    }

    fn resume(&self, node: usize) -> Result<()> {
        self.node(node)?.resume()
    }
}
