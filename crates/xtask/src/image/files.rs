//! The files of the image, as one layer: a tar in which nothing depends on the machine.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use tar::{Archive, Builder, EntryType, Header};

use super::{CERTIFICATES, DATA, PROGRAM, USER, ZONES, layout::digest_bytes};

/// A layer, and the digest by which it is known once it is unpacked.
pub struct PackedLayer {
    pub packed: Vec<u8>,
    pub unpacked_digest: String,
}

impl PackedLayer {
    /// Lays its files out in a folder that is not there yet; whose they are, only root can keep.
    pub fn unpack_into(&self, folder: &Path) -> Result<()> {
        ensure!(!folder.exists(), "it is there already");
        let mut tar = Archive::new(GzDecoder::new(self.packed.as_slice()));
        tar.set_preserve_permissions(true);
        Ok(tar.unpack(folder)?)
    }
}

/// What stands at a path.
enum LayerEntry {
    Folder { mode: u32, owner: u64 },
    File { bytes: Vec<u8>, mode: u32 },
}

/// Names that are no zone of their own: all of them once more, by another count of seconds, and the zone of this machine.
const ZONES_LEFT_OUT: [&str; 3] = ["localtime", "posix", "right"];

/// Packs the program with what it needs.
pub fn pack_layer(program: &[u8], seconds: u64) -> Result<PackedLayer> {
    let mut entries = BTreeMap::new();
    let file = |bytes: Vec<u8>, mode| LayerEntry::File { bytes, mode };
    entries.insert(PathBuf::from(PROGRAM), file(program.to_vec(), 0o755));
    entries.insert(PathBuf::from(DATA), LayerEntry::Folder { mode: 0o700, owner: USER });
    entries.insert(PathBuf::from("tmp"), LayerEntry::Folder { mode: 0o1777, owner: 0 });
    let passwd = format!("root:x:0:0:root:/:/nowhere\ntidings:x:{USER}:{USER}:Tidings:/{DATA}:/nowhere\n");
    entries.insert(PathBuf::from("etc/passwd"), file(passwd.into_bytes(), 0o644));
    let group = format!("root:x:0:\ntidings:x:{USER}:\n");
    entries.insert(PathBuf::from("etc/group"), file(group.into_bytes(), 0o644));
    // Unless it is said, names are asked of DNS first, and what a cluster writes into the file of hosts may never count.
    entries.insert(PathBuf::from("etc/nsswitch.conf"), file(b"hosts: files dns\n".to_vec(), 0o644));
    let certificates = fs::read(Path::new("/").join(CERTIFICATES)).context("install ca-certificates")?;
    entries.insert(PathBuf::from(CERTIFICATES), file(certificates, 0o644));
    add_zones(&mut entries).context("install tzdata")?;
    add_parents(&mut entries);
    let unpacked = write_tar(&entries, seconds)?;
    // No name and no instant in its head.
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packed.write_all(&unpacked)?;
    Ok(PackedLayer { packed: packed.finish()?, unpacked_digest: digest_bytes(&unpacked) })
}

fn add_zones(entries: &mut BTreeMap<PathBuf, LayerEntry>) -> Result<()> {
    let root = Path::new("/").join(ZONES);
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.strip_prefix(&root)?;
            if ZONES_LEFT_OUT.iter().any(|left_out| name.starts_with(left_out)) {
                continue;
            }
            // What a link leads to is packed in its place.
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
                entries.insert(Path::new(ZONES).join(name), LayerEntry::File { bytes, mode: 0o644 });
            }
        }
    }
    ensure!(
        entries.contains_key(&Path::new(ZONES).join("Europe/Berlin")),
        "{} has no time zones",
        root.display()
    );
    Ok(())
}

/// Adds the folders in which something is.
fn add_parents(entries: &mut BTreeMap<PathBuf, LayerEntry>) {
    let inner: Vec<PathBuf> = entries.keys().cloned().collect();
    for path in
        inner.iter().flat_map(|path| path.ancestors().skip(1)).filter(|path| !path.as_os_str().is_empty())
    {
        entries.entry(path.to_owned()).or_insert(LayerEntry::Folder { mode: 0o755, owner: 0 });
    }
}

fn write_tar(entries: &BTreeMap<PathBuf, LayerEntry>, seconds: u64) -> Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    for (path, entry) in entries {
        let mut header = Header::new_ustar();
        header.set_mtime(seconds);
        let (kind, mode, owner, bytes): (_, _, _, &[u8]) = match entry {
            LayerEntry::Folder { mode, owner } => (EntryType::Directory, *mode, *owner, &[]),
            LayerEntry::File { bytes, mode } => (EntryType::Regular, *mode, 0, bytes),
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(owner);
        header.set_gid(owner);
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, path, bytes)?;
    }
    Ok(tar.into_inner()?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_layer_is_the_same_each_time_and_has_what_is_needed() {
        let one = pack_layer(b"program", 1_700_000_000).unwrap();
        let other = pack_layer(b"program", 1_700_000_000).unwrap();
        assert_eq!(one.unpacked_digest, other.unpacked_digest);
        assert_eq!(one.packed, other.packed);
        assert_ne!(one.unpacked_digest, pack_layer(b"program", 1).unwrap().unpacked_digest);
        let mut tar = Archive::new(GzDecoder::new(one.packed.as_slice()));
        let mut found = BTreeMap::new();
        for entry in tar.entries().unwrap() {
            let header = entry.unwrap().header().clone();
            let path = header.path().unwrap().display().to_string();
            found.insert(path, (header.mode().unwrap(), header.uid().unwrap()));
        }
        let check = |path: &str, expect: (u32, u64)| assert_eq!(found.get(path), Some(&expect), "{path}");
        check("usr/local/bin/tidings", (0o755, 0));
        check("usr/local/bin", (0o755, 0));
        check("var/lib/tidings", (0o700, USER));
        check("tmp", (0o1777, 0));
        check("etc/nsswitch.conf", (0o644, 0));
        check("etc/ssl/certs/ca-certificates.crt", (0o644, 0));
        check("usr/share/zoneinfo/Europe/Berlin", (0o644, 0));
        assert!(!found.keys().any(|path| path.contains("zoneinfo/right")), "zones that count leap seconds");
        assert!(!found.keys().any(|path| path.ends_with("/localtime")), "the zone of this machine");
        assert!(!found.keys().any(|path| path.ends_with("/sh")), "a shell");
    }

    #[test]
    fn its_files_are_laid_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let layer = pack_layer(b"program", 1_700_000_000).unwrap();
        layer.unpack_into(&root).unwrap();
        let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(PROGRAM), mode(DATA), mode("tmp")), (0o755, 0o700, 0o1777));
        assert_eq!(fs::read(root.join(PROGRAM)).unwrap(), b"program");
        assert!(layer.unpack_into(&root).is_err_and(|error| error.to_string().contains("there already")));
    }
}
