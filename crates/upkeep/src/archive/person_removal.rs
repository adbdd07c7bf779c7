//! Removes a person from an archive: a new file is written beside the old one and takes its name when it is complete.

use std::{
    fs::File,
    io::{BufReader, BufWriter},
    path::Path,
};

use anyhow::Context as _;
use model::{Person, Tenant};

use super::unfinished_file::UnfinishedFile;

/// Rewrites a file; returns how many rows were left out. One without the person is left as it is.
pub fn remove_person(file: &Path, (tenant, person): (&Tenant, &Person)) -> anyhow::Result<u64> {
    let named = || format!("read {}", file.display());
    let open = || {
        let input = BufReader::new(File::open(file).with_context(named)?);
        wire::archive::open_archive(input).with_context(|| format!("{} is not an archive", file.display()))
    };
    let mut gone = 0_u64;
    for row in open()? {
        let (key, _) = row.with_context(named)?;
        gone += u64::from(key.tenant == *tenant && key.person == *person);
    }
    if gone == 0 {
        return Ok(0);
    }
    let (unfinished, out) = UnfinishedFile::begin(file)?;
    let mut writer = wire::archive::ArchiveWriter::new(BufWriter::new(out))?;
    for row in open()? {
        let (key, row) = row.with_context(named)?;
        if key.tenant != *tenant || key.person != *person {
            writer.append(&key, &row)?;
        }
    }
    let out = writer.finish()?.into_inner().context("write the end of the file")?;
    out.sync_all().with_context(|| format!("sync the unfinished file of {}", file.display()))?;
    unfinished.replace(file)?;
    Ok(gone)
}
