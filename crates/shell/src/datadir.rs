//! The data directory: its lock, how the command line finds the house that runs on it, and how far the demo's clock was
//! moved.
//!
//! `topics/ store/ outbox/` belong to the engines; `lock_file` is held by the process that has them open, or by
//! those that share the directory because their engines are elsewhere, one of which holds `lock.admin`;
//! `admin.json` says where that process listens, and is there only while it does; `clock` is how many
//! milliseconds the clock is ahead, so that time never goes back after a restart; `secret` is what the links
//! of mails are signed with, for as long as there are such mails; `webpush.pem` is by what browsers know a demo.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;
use runtime::{Clock, resource_limits};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use wire::token::{LinkSecret, SECRET_BYTES};

use crate::failure::CommandError;

/// What is written to find out whether there is room.
const PROBE_BYTES: usize = 1 << 20;

/// A data directory that this process holds.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// Whether nothing was in it before.
    pub is_new: bool,
    /// Held as long as this lives; the system lets go of them when the process ends, however it ends.
    _locks: Vec<File>,
}

/// Where a running house listens, and what opens its door.
#[derive(Clone, Debug)]
pub struct AdminAccess {
    /// `http://127.0.0.1:7280`
    pub address: String,
    pub token: SecretString,
    pub tenant: String,
    pub pid: u32,
}

#[derive(Serialize, Deserialize)]
struct AdminFile<'a> {
    address: &'a str,
    token: &'a str,
    tenant: &'a str,
    pid: u32,
}

impl DataDir {
    /// Takes hold of a directory, making it if it is not there. A second process is told of the first.
    pub fn hold(path: &Path) -> Result<Self, CommandError> {
        Self::open(path, |dir| {
            let lock = lock_file(dir, "lock", File::try_lock)?;
            sign_lock(&lock)?;
            Ok(vec![lock])
        })
    }

    /// Takes a directory together with others that do the same; one of them is its `admin`.
    pub fn share(path: &Path, is_admin: bool) -> Result<Self, CommandError> {
        Self::open(path, |dir| {
            let mut locks = vec![lock_file(dir, "lock", File::try_lock_shared)?];
            if is_admin {
                let admin = lock_file(dir, "lock.admin", File::try_lock)?;
                sign_lock(&admin)?;
                locks.push(admin);
            }
            Ok(locks)
        })
    }

    fn open(
        path: &Path,
        locks: impl Fn(&Path) -> Result<Vec<File>, CommandError>,
    ) -> Result<Self, CommandError> {
        let made = |error| anyhow::Error::new(error).context(format!("make {}", path.display()));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(made)?;
        close_to_others(path)?;
        let _locks = locks(path)?;
        let is_new = !path.join("topics").exists() && !path.join("store").exists();
        Ok(Self { path: path.to_owned(), is_new, _locks })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn topics(&self) -> PathBuf {
        self.path.join("topics")
    }

    pub fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// The secret that signs the links of mails. It is made once and never replaced, even if it cannot be read: another
    /// one would invalidate the links of every mail that was sent.
    pub fn secret(&self) -> anyhow::Result<LinkSecret> {
        let path = self.path.join("secret");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text = format!("{}\n", random_hex(SECRET_BYTES)?);
                replace_file(&self.path, "secret", text.as_bytes()).context("write the secret")?;
                text
            }
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let digits = 2 * SECRET_BYTES;
        LinkSecret::parse(text.trim_end())
            .with_context(|| format!("{} must have {digits} hexadecimal digits", path.display()))
    }

    /// The key by which a demo shows pushes in browsers. Made once: browsers that subscribed know its public half.
    pub fn web_key(&self) -> anyhow::Result<SecretString> {
        let path = self.path.join("webpush.pem");
        match fs::read_to_string(&path) {
            Ok(pem) => Ok(SecretString::from(pem)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let pem = courier_net::push::JwtKey::generate_pem().map_err(|why| anyhow::anyhow!(why))?;
                replace_file(&self.path, "webpush.pem", pem.as_bytes())
                    .context("write the key for Web Push")?;
                Ok(SecretString::from(pem))
            }
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Says where this process listens; only its user may read it.
    pub fn publish(&self, admin: &AdminAccess) -> anyhow::Result<()> {
        let AdminAccess { address, token, tenant, pid } = admin;
        let file = AdminFile { address, token: token.expose_secret(), tenant, pid: *pid };
        let text = serde_json::to_string(&file)?;
        replace_file(&self.path, "admin.json", text.as_bytes()).context("write admin.json")
    }

    /// Takes that back.
    pub fn unpublish(&self) {
        if let Err(error) = fs::remove_file(self.path.join("admin.json")) {
            tracing::warn!(%error, "admin.json could not be removed");
        }
    }
}

/// A directory that was there before may be open to others, and all in it with it. Whose group it is may be how we
/// reach it at all, where another made it for us.
fn close_to_others(path: &Path) -> Result<(), CommandError> {
    let mode = fs::metadata(path).with_context(|| path.display().to_string())?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let closed = fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7700));
    let Err(error) = closed else { return Ok(()) };
    if mode & 0o007 == 0 {
        tracing::warn!(%error, path = %path.display(), "the group can read the data directory");
        return Ok(());
    }
    let path = path.display();
    Err(CommandError::from_refusal(format!(
        "everybody on this machine can read {path}: chmod it to 700 ({error})"
    )))
}

/// Locks a file of a directory, or says who has it.
fn lock_file(
    dir: &Path,
    name: &str,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<File, CommandError> {
    let name = dir.join(name);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&name);
    let file = opened.with_context(|| format!("open {}", name.display()))?;
    match lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&name).unwrap_or_default();
            let who =
                if pid.trim().is_empty() { String::new() } else { format!(" (process {})", pid.trim()) };
            let dir = dir.display();
            Err(CommandError::from_refusal(format!(
                "another tidings{who} uses {dir}; only one can at a time"
            )))
        }
        Err(TryLockError::Error(error)) => {
            Err(anyhow::Error::new(error).context(format!("lock {}", name.display())).into())
        }
    }
}

/// Writes into a lock whose it is.
fn sign_lock(mut lock: &File) -> Result<(), CommandError> {
    let signed = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(signed.context("write the lock")?)
}

impl AdminAccess {
    /// The house that runs on a directory, if one said so.
    pub fn read(dir: &Path) -> anyhow::Result<Option<Self>> {
        let path = dir.join("admin.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let file: AdminFile<'_> = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let (address, tenant) = (file.address.to_owned(), file.tenant.to_owned());
        Ok(Some(Self { address, token: SecretString::from(file.token), tenant, pid: file.pid }))
    }
}

/// The demo's clock: moved forward only, and on the disk before anybody sees it.
pub struct DemoClock {
    dir: PathBuf,
    clock: Clock,
    moving: Mutex<()>,
}

impl DemoClock {
    /// The machine's clock, ahead by what the directory says.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("clock");
        let ahead = match fs::read_to_string(&path) {
            Ok(text) => {
                text.trim().parse::<i64>().with_context(|| format!("{} is not a number", path.display()))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        Ok(Self { dir: dir.to_owned(), clock: Clock::real(ahead.max(0)), moving: Mutex::new(()) })
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Moves the clock forward. A crash in between leaves it moved, and nothing has seen it before.
    pub fn advance(&self, ms: i64) -> anyhow::Result<()> {
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = ms.max(0);
        let ahead = self.clock.ahead().saturating_add(ms);
        replace_file(&self.dir, "clock", format!("{ahead}\n").as_bytes())
            .context("write the clock's file")?;
        self.clock.advance(ms);
        Ok(())
    }
}

/// Writes a file whole, for this user alone, and makes sure it is on the disk.
fn replace_file(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let draft = dir.join(format!("{name}.draft"));
    // A draft left by a crash may have other permissions; a new file has ours from the beginning.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) | Ok(()) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, dir.join(name))?;
    File::open(dir)?.sync_all()
}

/// So many bytes that nobody can guess, as hexadecimal digits.
pub fn random_hex(bytes: usize) -> anyhow::Result<String> {
    let mut random = vec![0_u8; bytes];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random)).context("/dev/urandom")?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Bytes of the disk that this user may still fill.
pub fn disk_free(dir: &Path) -> anyhow::Result<u64> {
    let disk =
        rustix::fs::statvfs(dir).with_context(|| format!("read the free space of {}", dir.display()))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether there are so many bytes, and a file can really be written: a quota is not told beforehand.
pub fn has_room(dir: &Path, bytes: u64) -> anyhow::Result<bool> {
    if disk_free(dir)? < bytes {
        return Ok(false);
    }
    let probe = dir.join("probe");
    let written = File::create(&probe).and_then(|mut file| {
        file.write_all(&vec![1; PROBE_BYTES])?;
        file.sync_all()
    });
    // Should it stay, the next one takes its place.
    drop(fs::remove_file(&probe));
    match written {
        Ok(()) => Ok(true),
        Err(error) if resource_limits::is_out_of_room(&error) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("write to {}", dir.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_is_told_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::hold(dir.path()).unwrap();
        let second = DataDir::hold(dir.path()).unwrap_err();
        assert_eq!(second.exit_code(), 3);
        assert!(second.to_string().contains(&format!("(process {})", std::process::id())), "{second}");
        drop(first);
        DataDir::hold(dir.path()).unwrap();
    }

    #[test]
    fn a_directory_that_was_there_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let check = |before: u32, after: u32| {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(before)).unwrap();
            DataDir::hold(dir.path()).unwrap();
            assert_eq!(fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, after);
        };
        check(0o755, 0o700);
        check(0o770, 0o700);
        check(0o777, 0o700);
    }

    #[test]
    fn those_who_share_a_directory_have_one_admin_and_no_owner() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |taken: Result<DataDir, CommandError>| assert_eq!(taken.unwrap_err().exit_code(), 3);
        let admin = DataDir::share(dir.path(), true).unwrap();
        let other = DataDir::share(dir.path(), false).unwrap();
        refused(DataDir::share(dir.path(), true));
        refused(DataDir::hold(dir.path()));
        drop(admin);
        DataDir::share(dir.path(), true).unwrap();
        refused(DataDir::hold(dir.path()));
        drop(other);
        let owner = DataDir::hold(dir.path()).unwrap();
        refused(DataDir::share(dir.path(), false));
        drop(owner);
    }

    #[test]
    fn the_way_in_is_for_this_user_alone_and_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::hold(dir.path()).unwrap();
        assert!(AdminAccess::read(dir.path()).unwrap().is_none());
        let token = SecretString::from("t0ken");
        let admin = AdminAccess {
            address: "http://127.0.0.1:1".to_owned(),
            token,
            tenant: "main".to_owned(),
            pid: 7,
        };
        data.publish(&admin).unwrap();
        let mode = fs::metadata(dir.path().join("admin.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let read = AdminAccess::read(dir.path()).unwrap().unwrap();
        assert_eq!((read.token.expose_secret(), read.pid), ("t0ken", 7));
        assert!(!format!("{read:?}").contains("t0ken"));
        data.unpublish();
        assert!(AdminAccess::read(dir.path()).unwrap().is_none());
    }

    #[test]
    fn the_secret_is_made_once_for_this_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::hold(dir.path()).unwrap();
        let path = dir.path().join("secret");
        data.secret().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        data.secret().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        for broken in ["", "short", &"zz".repeat(SECRET_BYTES)] {
            fs::write(&path, broken).unwrap();
            let why = format!("{:#}", data.secret().unwrap_err());
            assert!(why.contains("64 hexadecimal digits"), "{why}");
            assert_eq!(fs::read_to_string(&path).unwrap(), broken, "never replaced");
        }
    }

    #[test]
    fn time_never_goes_back_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let clock = DemoClock::open(dir.path()).unwrap();
        assert_eq!(clock.clock().ahead(), 0);
        clock.advance(3_600_000).unwrap();
        clock.advance(-5).unwrap();
        let before = clock.clock().now();
        let again = DemoClock::open(dir.path()).unwrap();
        assert_eq!(again.clock().ahead(), 3_600_000);
        assert!(again.clock().now() >= before);
    }

    #[test]
    fn room_is_what_can_be_written_to() {
        let dir = tempfile::tempdir().unwrap();
        assert!(has_room(dir.path(), 1).unwrap());
        assert!(!has_room(dir.path(), u64::MAX).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing stays");
        assert!(has_room(&dir.path().join("nowhere"), 1).is_err());
    }

    #[test]
    fn what_nobody_can_guess_is_never_the_same() {
        let one = random_hex(16).unwrap();
        assert_eq!(one.len(), 32);
        assert_ne!(one, random_hex(16).unwrap());
        assert!(disk_free(Path::new("/")).unwrap() > 0);
    }
}
