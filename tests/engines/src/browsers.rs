//! Browsers and their push service: `tests/node/push_service.cjs`, on npm's web-push-testing; and the other programs in
//! `tests/node`.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{
    certificates::TestCertificates,
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools::{built_folder, project_root},
};

pub struct PushService {
    host: String,
    /// Where the browsers are asked.
    browsers: String,
    certificates: TestCertificates,
    node: EngineNode,
    _network: LoopbackNetwork,
}

/// What a browser has subscribed to.
#[derive(Clone, Debug)]
pub struct SubscribedBrowser {
    id: String,
    /// As the browser gives it to the app.
    pub json: String,
}

impl PushService {
    /// Starts one and waits until it is ready.
    pub fn start() -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let (host, plain, port) = (network.host(0), network.host(1), network.port(8_443)?.to_string());
        let folder = node_folder("push")?;
        let certificates = TestCertificates::make(folder.path(), &[&host])?;
        let (program, modules) = (project_root().join("tests/node/push_service.cjs"), node_modules()?);
        let mut modules_word = OsString::from("NODE_PATH=");
        modules_word.push(modules);
        let mut command: Vec<OsString> = vec!["env".into(), modules_word, "node".into(), program.into()];
        command.extend([&host, &plain, &port].map(OsString::from));
        command.push(certificates.nodes_pem.clone().into());
        let node = EngineNode::new(folder, command, "ready")?;
        node.start()?;
        node.wait_ready().context("cannot start the push service")?;
        let browsers = format!("http://{plain}:{port}");
        Ok(Self { host, browsers, certificates, node, _network: network })
    }

    /// Where the service is, with its port.
    pub fn address(&self) -> String {
        let port = self.browsers.rsplit(':').next().unwrap_or_default();
        format!("{}:{port}", self.host)
    }

    /// Where the service is.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The authority of its certificate.
    pub fn ca(&self) -> Result<Vec<u8>> {
        Ok(fs::read(&self.certificates.ca_pem)?)
    }

    /// A browser subscribes, for an app with this key.
    pub fn subscribe(&self, application_server_key: &str) -> Result<SubscribedBrowser> {
        // It takes the word, as a form would send it, and no boolean.
        let options = json!({"userVisibleOnly": "true", "applicationServerKey": application_server_key});
        let said = self.ask("subscribe", &options)?;
        let data = &said["data"];
        let id = data["clientHash"].as_str().context("a subscription without its id")?.to_owned();
        Ok(SubscribedBrowser {
            id,
            json: json!({"endpoint": data["endpoint"], "keys": data["keys"]}).to_string(),
        })
    }

    /// What a browser was shown, decrypted.
    pub fn read_notifications(&self, subscribed: &SubscribedBrowser) -> Result<Vec<String>> {
        let said = self.ask("get-notifications", &json!({"clientHash": subscribed.id}))?;
        let messages = said["data"]["messages"].as_array().context("no list of messages")?;
        Ok(messages.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Keeps whoever pushes to a browser next waiting for ever, with the push taken or not.
    pub fn hold(&self, subscribed: &SubscribedBrowser, is_taken: bool) -> Result<()> {
        let what = if is_taken { "taken" } else { "lost" };
        let reply = ureq::post(format!("{}/hold/{}/{what}", self.browsers, subscribed.id)).send_empty();
        reply.map(drop).context("the push service does not hold a push")
    }

    /// Waits until it keeps somebody waiting who pushed to this browser.
    pub fn wait_until_it_holds(&self, subscribed: &SubscribedBrowser) -> Result<()> {
        self.node.wait_for(|| self.node.has_logged(&format!("holds {}", subscribed.id)))
    }

    /// A browser is gone.
    pub fn expire(&self, subscribed: &SubscribedBrowser) -> Result<()> {
        let reply =
            ureq::post(format!("{}/expire-subscription/{}", self.browsers, subscribed.id)).send_empty();
        reply.map(drop).context("the push service does not expire a subscription")
    }

    fn ask(&self, what: &str, options: &Value) -> Result<Value> {
        let reply = ureq::post(format!("{}/{what}", self.browsers)).send_json(options);
        let mut reply = reply.with_context(|| format!("the push service does not {what}"))?;
        Ok(reply.body_mut().read_json()?)
    }
}

/// A page with pushes in Chromium, by a program in `tests/node` that speaks lines of JSON.
pub struct BrowserPage {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl BrowserPage {
    /// Opens a page; who subscribes there gets this subscription.
    pub fn open(program: &str, url: &str, subscription: &str) -> Result<Self> {
        let mut command = node(program)?;
        command.args([url, subscription]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take().context("no output")?);
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// What it says next.
    pub fn read_answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "the browser ended");
        Ok(serde_json::from_str(&line)?)
    }

    /// What it says to a line.
    pub fn send_line(&mut self, line: &str) -> Result<Value> {
        writeln!(self.input.as_mut().context("it was closed")?, "{line}")?;
        self.read_answer()
    }

    /// Ends it in good order.
    pub fn close(mut self) -> Result<()> {
        drop(self.input.take());
        ensure!(self.child.wait()?.success(), "the browser failed");
        Ok(())
    }
}

/// One of the programs in `tests/node`, with what it stands on.
pub fn node(program: &str) -> Result<Command> {
    let mut command = Command::new("node");
    command.env("NODE_PATH", node_modules()?).arg(project_root().join("tests/node").join(program));
    Ok(command)
}

/// What npm has put among the build outputs.
fn node_modules() -> Result<PathBuf> {
    Ok(built_folder("node", "made-of.json", include_str!("../../node/package-lock.json"))?
        .join("node_modules"))
}
