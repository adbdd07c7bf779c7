//! What a process leaves on the disk when its power is cut: a copy of its folder, taken while it works.

use std::{
    fs, io,
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
};

/// How often a folder is copied whose files go away meanwhile.
const TRIES: usize = 100;

/// Copies what the disk holds at this moment to a folder that does not exist yet, or is empty.
///
/// A copy takes a while, and the engine works on: where a file goes away meanwhile, the copy would be of no one
/// moment, so it is taken again.
///
/// # Errors
/// Where the disk fails, or files go away during each try.
pub fn cut_power(from: &Path, to: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        match copy_folder(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => fs::remove_dir_all(to)?,
            done => return done,
        }
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            copy_sparse(fs::File::open(entry.path())?, &target)?;
        }
    }
    Ok(())
}

/// Journals are mostly holes; these stay holes.
fn copy_sparse(mut source: fs::File, target: &Path) -> io::Result<()> {
    let mut target = fs::File::create(target)?;
    let length = source.metadata()?.len();
    let (hole, mut buffer, mut at) = (vec![0; 256 << 10], vec![0; 256 << 10], 0);
    loop {
        let read = source.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        if buffer[..read] != hole[..read] {
            target.seek(SeekFrom::Start(at))?;
            target.write_all(&buffer[..read])?;
        }
        at += u64::try_from(read).unwrap_or(u64::MAX);
    }
    target.set_len(length.max(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_whole_though_files_go_away_meanwhile() {
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("kept"), [vec![0; 300 << 10], vec![7; 10]].concat()).unwrap();
        let passing = from.path().join("passing");
        let work = std::thread::spawn(move || {
            for _ in 0..2_000 {
                fs::create_dir(&passing).unwrap();
                fs::write(passing.join("file"), "x").unwrap();
                fs::remove_dir_all(&passing).unwrap();
            }
        });
        while !work.is_finished() {
            let to = tempfile::tempdir().unwrap();
            cut_power(from.path(), to.path()).unwrap();
            let kept = fs::read(to.path().join("kept")).unwrap();
            assert_eq!((kept.len(), kept[300 << 10]), ((300 << 10) + 10, 7));
        }
        work.join().unwrap();
    }
}
