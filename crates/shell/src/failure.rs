//! How a command fails, and the exit code that says so.

use std::{fmt, io, net::SocketAddr, process::ExitCode};

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum CommandError {
    /// Something went wrong.
    Failed(anyhow::Error),
    /// The command line makes no sense.
    Usage(String),
    /// A catalogue, a configuration or an input was refused.
    Refused(anyhow::Error),
    /// Nothing runs here, or it does not answer.
    Unreachable(anyhow::Error),
    /// The reader of the output has gone, so nothing is reported.
    Closed,
}

impl CommandError {
    pub fn from_refusal(what: impl fmt::Display) -> Self {
        Self::Refused(anyhow::anyhow!("{what}"))
    }

    pub fn from_unreachable(what: impl fmt::Display) -> Self {
        Self::Unreachable(anyhow::anyhow!("{what}"))
    }

    /// The codes are listed in `--help`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Unreachable(_) => 4,
        }
    }
}

impl From<CommandError> for ExitCode {
    fn from(failure: CommandError) -> Self {
        failure.exit_code().into()
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<settings::config::ConfigError> for CommandError {
    fn from(refused: settings::config::ConfigError) -> Self {
        Self::Refused(refused.into())
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Failed(error.into()),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) | Self::Refused(error) | Self::Unreachable(error) => write!(f, "{error:#}"),
            Self::Usage(what) => f.write_str(what),
            Self::Closed => Ok(()),
        }
    }
}

/// Why nobody can listen at an address, and by which flag it can be another one.
pub fn explain_bind_error(error: io::Error, at: SocketAddr, flag: &str) -> CommandError {
    if error.kind() == io::ErrorKind::AddrInUse {
        let any = SocketAddr::new(at.ip(), 0);
        return CommandError::from_refusal(format!("{at} is taken (by another tidings?); try {flag} {any}"));
    }
    let what = format!("listen on {at}; {flag} takes another address");
    CommandError::Failed(anyhow::Error::new(error).context(what))
}
