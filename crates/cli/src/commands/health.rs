//! `tidings health`: asks a process whether it is alive or ready, as containers and service managers want to know.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::json;
use settings::config::Config;
use shell::{client, datadir::AdminAccess, failure::CommandError, terminal};

use super::OutputStyle;
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::HealthArgs, out: OutputStyle) -> Result<(), CommandError> {
    let server_ca = config.server.as_ref().and_then(|server| server.ca.as_deref());
    let (address, is_guessed) = match (&asked.url, &config.server) {
        (Some(url), _) => (url.trim_end_matches('/').to_owned(), false),
        (None, Some(server)) => (server.url.clone(), false),
        (None, None) => match AdminAccess::read(&config.data_dir)? {
            Some(admin) => (admin.address, false),
            None => (guess_address(config)?, true),
        },
    };
    let dir = config.data_dir.display();
    let path = if asked.live { "/health/live" } else { "/health/ready" };
    let answer = client::ask_openly(&address, server_ca, path).map_err(|error| match error {
        CommandError::Unreachable(why) if is_guessed => CommandError::Unreachable(
            why.context(format!("no house says that it runs on {dir}, and `listen` was asked")),
        ),
        other => other,
    })?;
    if is_guessed {
        terminal::print_talk(format!("{address} answers, by `listen`; no house says that it runs on {dir}"));
    }
    if !(200..300).contains(&answer.status) {
        return Err(CommandError::from_unreachable(format!("{address}: {}", answer.error_text())));
    }
    let state = if asked.live { "alive" } else { "ready" };
    if out.json {
        return Ok(terminal::print_json(&json!({"address": address, "state": state}))?);
    }
    Ok(terminal::print_data(state)?)
}

/// Where the settings have a process listen: one without the way in says so nowhere else.
fn guess_address(config: &Config) -> Result<String, CommandError> {
    let listen = reachable_address(config.listen);
    if listen.port() == 0 {
        return Err(CommandError::from_unreachable(format!(
            "no house runs on {}, and `listen` names no port; name the process with --url",
            config.data_dir.display()
        )));
    }
    Ok(format!("http://{listen}"))
}

/// Who listens everywhere is asked on this machine.
fn reachable_address(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_on_this_machine() {
        let check = |listen: &str, expect: &str| {
            assert_eq!(reachable_address(listen.parse().unwrap()).to_string(), expect, "{listen}");
        };
        check("0.0.0.0:7280", "127.0.0.1:7280");
        check("[::]:7280", "[::1]:7280");
        check("10.1.2.3:80", "10.1.2.3:80");
        check("127.0.0.1:0", "127.0.0.1:0");
    }
}
