//! Each page, and what is looked at beside it that its reader sees elsewhere.

use std::{collections::BTreeMap, fs, net::TcpListener, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use engines::{
    BrowserPage, KafkaConnect, MailOptions, MailTls, PostgresServer, PushService, PythonMailServer,
};
use serde_json::{Value, json};
use tests::markdown::ANYTHING;

use crate::machine::PageMachine;

/// An address at which nobody listens yet.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

#[test]
fn the_tutorial_fails_and_passes_where_it_says() {
    PageMachine::new().unwrap().follow("tutorial.md").unwrap();
}

#[test]
fn a_mail_shows_products_when_it_is_opened() {
    PageMachine::new().unwrap().follow("products-in-a-mail.md").unwrap();
}

#[test]
fn a_mail_is_signed() {
    let server = PythonMailServer::start(MailOptions {
        tls: MailTls::StartTls,
        login: Some("tidings:PASSWORD"),
        ..MailOptions::default()
    });
    let (server, mut machine) = (server.unwrap(), PageMachine::new().unwrap());
    fs::write(machine.working_folder().join("ca.pem"), server.ca().unwrap()).unwrap();
    machine.swap("smtp.example.net:587", &format!("{}:{}", server.host(), server.port()));
    // The server's authority is the test's own, which no page says.
    machine.swap("0.0.0.0:25", &format!("{}\n  ca: ca.pem", free_address().unwrap()));
    machine.follow("signed-mail.md").unwrap();

    let mails = server.arrived_mails().unwrap();
    let mail = mails.last().context("no mail").unwrap();
    let file = machine.working_folder().join("last.eml");
    fs::write(&file, &mail.bytes).unwrap();
    let held = check_signatures(&machine.working_folder(), &file).unwrap();
    assert!(held.len() == 2 && held.values().all(|holds| *holds), "{held:?}");
    let (text, from) = (String::from_utf8_lossy(&mail.bytes), mail.about["from"].as_str().unwrap());
    assert!(text.contains("From: Library <news@example.com>"), "{text}");
    assert!(from.ends_with("@returns.example.com"), "SPF is asked of {from}");
    assert!(text.contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click"), "{text}");
}

/// By selector, whether dkimpy finds that it holds, by the DNS that the page has a reader enter.
fn check_signatures(here: &Path, mail: &Path) -> Result<BTreeMap<String, bool>> {
    let mut list = Command::new(tests::binary()?);
    let keys: Value = serde_json::from_slice(
        &list.args(["--json", "dkim", "list", "--folder", "keys"]).current_dir(here).output()?.stdout,
    )?;
    let keys = keys.as_array().context("no keys")?;
    let zone = fs::read_to_string(here.join("records"))?;
    let mut dns = BTreeMap::new();
    for line in zone.lines().filter(|line| line.contains("_domainkey")) {
        let (name, record) = line.split_once(".  ").context("a line without a name")?;
        let record = record.split('"').nth(1).context("a record without a text")?;
        let (before, after) = name.split_once(ANYTHING).context("a key without a date")?;
        let fits = |key: &&Value| {
            let name = key["name"].as_str().unwrap_or_default();
            let begins = record.strip_suffix(ANYTHING).unwrap_or_default();
            name.starts_with(before)
                && name.ends_with(after)
                && key["record"].as_str().is_some_and(|text| text.starts_with(begins))
        };
        let key = keys.iter().find(fits).with_context(|| format!("no key for {line}"))?;
        dns.insert(key["name"].as_str().unwrap_or_default(), key["record"].as_str().unwrap_or_default());
    }
    fs::write(here.join("dns.json"), serde_json::to_vec(&dns)?)?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/dkim_verify.py");
    let output = Command::new(engines::python()?).args([&program, mail, &here.join("dns.json")]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[test]
fn it_runs_in_production() {
    let mut machine = PageMachine::new().unwrap();
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    machine.swap("kafka-1:9092,kafka-2:9092,kafka-3:9092", kafka);
    machine.swap("cql-1:9042,cql-2:9042,cql-3:9042", cql);
    // One node of each, and other houses on them.
    let name = format!("how_to_{}", std::process::id());
    machine.swap("keyspace: tidings}", &format!("keyspace: {name}}}"));
    machine.swap("prefix: tidings.}", &format!("prefix: {name}., replication: 1, min_insync: 1}}"));
    machine.certify("/etc/letsencrypt/live/news.example.com").unwrap();
    machine.swap("listen 443 ssl", &format!("listen {} ssl", free_address().unwrap()));
    machine.follow("production.md").unwrap();
}

/// A house as in `production.md` that has told One, with Two waiting.
const BEFORE: &str = r#"
tidings init /etc/tidings/catalogue >/dev/null
echo 0123456789abcdef0123456789abcdef >/etc/tidings/shop.key
printf '5e%.0s' $(seq 32) >/etc/tidings/secret
systemctl start tidings
until curl -fs localhost:7280/health/ready; do sleep 0.1; done
export TIDINGS_CONFIG=/etc/tidings/tidings.yaml
tidings person ann email=ann@example.org zone=Europe/Berlin
tidings follow ann author:1
tidings publish book.added book:1 title=One author=author:1 available=true
until tidings windows ann | grep '^morning'; do sleep 0.1; done
tidings release --plan morning --person ann
until tidings days ann | grep 'told, sent'; do sleep 0.1; done
tidings publish book.added book:2 title=Two author=author:1 available=true
until tidings windows ann | grep '^morning'; do sleep 0.1; done
"#;

/// It tells what waits; how many mails there are.
const AFTER: &str = r#"
export TIDINGS_CONFIG=/etc/tidings/tidings.yaml
tidings release --plan morning --person ann
while tidings days ann | grep -v 'told, sent' | grep 'email:'; do sleep 0.1; done
tidings days ann
find /var/lib/tidings/outbox/mail -name '*.eml' | wc -l
"#;

/// It gets the rows of the backup beneath the topics of now. A replay puts back the entries that are missing, and the service
/// says again what the subject is like.
const ROWS_OF_BEFORE: &str = r#"
export TIDINGS_CONFIG=/etc/tidings/tidings.yaml
tidings publish book.added book:3 title=Three author=author:1 available=true
until tidings windows ann | grep '^morning'; do sleep 0.1; done
systemctl stop tidings
rm -r /var/lib/tidings/store
cp -a /var/backups/tidings/monday/store /var/lib/tidings/store
systemctl start tidings
until curl -fs localhost:7280/health/ready; do sleep 0.1; done
tidings replay events --from-start --execute
until tidings days ann | grep book:3; do sleep 0.1; done
tidings publish book.changed book:3 title=Three author=author:1 available=true
until tidings days ann | grep Three; do sleep 0.1; done
"#;

#[test]
fn a_backup_is_restored_and_tells_what_it_owes() {
    let mut machine = PageMachine::new().unwrap();
    for file in ["/etc/systemd/system/tidings.service", "/etc/tidings/tidings.yaml"] {
        machine.take("production.md", file).unwrap();
    }
    machine.script(BEFORE).unwrap();
    machine.follow("backup-and-restore.md").unwrap();
    // One was told before the backup and is not told again; Two is told, once.
    let after = machine.script(AFTER).unwrap();
    assert!(after.matches("told, sent").count() == 2 && after.ends_with("\n2\n"), "{after}");
    machine.script(ROWS_OF_BEFORE).unwrap();
    let after = machine.script(AFTER).unwrap();
    assert_eq!(after.matches("told, sent").count(), 3, "nothing is lost: {after}");
}

#[test]
fn rows_of_postgres_become_a_mail() {
    let mut machine = PageMachine::new().unwrap();
    let (kafka, cql) = (engines::kafka().unwrap(), engines::cql().unwrap());
    let name = format!("how_to_pg_{}", std::process::id());
    let (postgres, connect) = (PostgresServer::start().unwrap(), KafkaConnect::start(kafka, &name).unwrap());
    machine.set("PGHOST", postgres.host());
    machine.set("PGPORT", &postgres.port().to_string());
    machine.set("PGUSER", "postgres");
    machine.swap("localhost:9092", kafka);
    machine.swap("localhost:9042", cql);
    machine.swap("localhost:8083", connect.url().trim_start_matches("http://"));
    machine.swap(
        "\"database.hostname\": \"localhost\"",
        &format!("\"database.hostname\": \"{}\"", postgres.host()),
    );
    machine.swap("\"5432\"", &format!("\"{}\"", postgres.port()));
    // Others have houses and topics on the same engines.
    machine.swap("keyspace: tidings}", &format!("keyspace: {name}}}"));
    machine.swap("prefix: tidings.,", &format!("prefix: {name}.,"));
    machine.swap("\"topic.prefix\": \"shop\"", &format!("\"topic.prefix\": \"{name}\""));
    machine.swap("topic: shop.public", &format!("topic: {name}.public"));
    machine.follow("postgres.md").unwrap();
}

/// Where its reader opens the site in a browser.
const TRY: &str = "## 6. Try it";

#[test]
fn a_site_of_ones_own_pushes() {
    let (service, mut machine) = (PushService::start().unwrap(), PageMachine::new().unwrap());
    fs::write(machine.working_folder().join("ca.pem"), service.ca().unwrap()).unwrap();
    // The browsers' services are the test's own, which no page says.
    let subject = "subject: \"mailto:ops@example.com\"}";
    let own =
        format!("subject: \"mailto:ops@example.com\", hosts: [{}]}}\npush: {{ca: ca.pem}}", service.host());
    machine.swap(subject, &own);
    machine.follow_part("web-push.md", "# ", TRY).unwrap();
    let key = fs::read_to_string(machine.working_folder().join("public/key.txt")).unwrap();
    let subscribed = service.subscribe(key.trim()).unwrap();
    let mut browser =
        BrowserPage::open("own_site.cjs", &machine.apply_swaps("http://localhost:8080/"), &subscribed.json)
            .unwrap();
    assert_eq!(browser.read_answer().unwrap(), json!({"on": "You will be notified."}));

    machine.follow_part("web-push.md", TRY, "# The end").unwrap();
    let sent = service.read_notifications(&subscribed).unwrap().pop().context("no push").unwrap();
    let told = browser.send_line(&sent).unwrap();
    let shown = (&told["shown"][0]["title"], &told["shown"][0]["body"]);
    assert_eq!(shown, (&json!("New message"), &json!("Coffee at five?")), "{told}");
    assert_eq!(told["opened"], json!(["https://example.com/messages/1"]), "{told}");
    assert_eq!(browser.send_line("off").unwrap(), json!({"off": "No more notifications."}));
    let devices = machine.script("tidings device ann").unwrap();
    assert!(!devices.contains("web"), "{devices}");
    browser.close().unwrap();
}

#[test]
fn a_login_gives_tokens_out() {
    PageMachine::new().unwrap().follow("tokens-from-your-login.md").unwrap();
}

#[test]
fn a_site_of_ones_own_has_a_bell() {
    let (page, mut machine) = ("a-bell-on-your-site.md", PageMachine::new().unwrap());
    machine.set("CLIENTS", &tests::scenarios::root().join("clients").display().to_string());
    let begin = "## 5. Try it";
    machine.follow_part(page, "# ", begin).unwrap();
    let mut browser =
        BrowserPage::open("own_bell.cjs", &machine.apply_swaps("http://localhost:8080/"), "").unwrap();
    assert_eq!(browser.read_answer().unwrap(), json!(["Notifications", "Notifications"]));
    machine.follow_part(page, begin, "# The end").unwrap();
    assert_eq!(browser.send_line("count").unwrap(), json!(["1", "1"]));
    assert_eq!(browser.send_line("press").unwrap(), json!({"says": ["Coffee at five?"], "other": ""}));
    assert_eq!(browser.send_line("read").unwrap(), json!([0, 0]));
    browser.close().unwrap();
}

#[test]
fn a_house_is_upgraded() {
    let mut machine = PageMachine::new().unwrap();
    for file in ["/etc/systemd/system/tidings.service", "/etc/tidings/tidings.yaml"] {
        machine.take("production.md", file).unwrap();
    }
    machine.script(BEFORE).unwrap();
    // There is one version here: what follows is that of whoever upgrades, on the files of the version before.
    let new = machine.working_folder().join("new/tidings");
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    fs::copy(tests::binary().unwrap(), new).unwrap();
    machine.follow("upgrade.md").unwrap();
    let after = machine.script(AFTER).unwrap();
    assert!(after.matches("told, sent").count() == 2 && after.ends_with("\n2\n"), "{after}");
}
