//! The files of the image, as one layer: a tar in which nothing depends on the machine.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::{CERTIFICATES, DATA, PROGRAM, USER, ZONES, layout::digest_bytes};

/// A layer, and the digest by which it is known once it is unpacked.
pub struct PackedLayer {
    pub packed: Vec<u8>,
    pub unpacked_digest: String,
}

/// What stands at a path.
enum LayerEntry {
    Folder { mode: u32, owner: u64 },
    File { bytes: Vec<u8>, mode: u32 },
}

/// Names of time zones that are the same once more: by another count of seconds, or under a second name.
const ZONES_LEFT_OUT: [&str; 2] = ["posix", "right"];

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
    use super::*;

    #[test]
    fn a_layer_is_the_same_each_time_and_has_what_is_needed() {
        let one = pack_layer(b"program", 1_700_000_000).unwrap();
        let other = pack_layer(b"program", 1_700_000_000).unwrap();
        assert_eq!(one.unpacked_digest, other.unpacked_digest);
        assert_eq!(one.packed, other.packed);
        assert_ne!(one.unpacked_digest, pack_layer(b"program", 1).unwrap().unpacked_digest);
        let unpacked = flate2::read::GzDecoder::new(one.packed.as_slice());
        let mut tar = tar::Archive::new(unpacked);
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
        check("etc/ssl/certs/ca-certificates.crt", (0o644, 0));
        check("usr/share/zoneinfo/Europe/Berlin", (0o644, 0));
        assert!(!found.keys().any(|path| path.contains("zoneinfo/right")), "zones that count leap seconds");
        assert!(!found.keys().any(|path| path.ends_with("/sh")), "a shell");
    }
}
