//! What a process does at its start with the format of the house: it runs, says that there is no way back, or refuses.

use house::{
    book::HouseBook,
    house_format::{FormatNotes, write_format},
};
use house_facts::format::{FormatVerdict, HouseFormat, ProgramFormats};
use model::UtcMillis;
use settings::version::version;
use topic::Topics;

use super::NotReadyError;

/// Whether whoever starts a program still wants to be able to go back to the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayBack {
    Kept,
    GivenUp,
}

/// How the refusal of a raise names the command that raises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RaisingCommand {
    Migrate,
    Up,
}

impl RaisingCommand {
    fn text(self) -> &'static str {
        match self {
            Self::Migrate => "tidings migrate --no-way-back",
            Self::Up => "tidings up --no-way-back",
        }
    }
}

/// A program in front of a house.
#[derive(Clone, Debug)]
pub struct FormatGate {
    program: ProgramFormats,
    house: HouseFormat,
    /// Whether nobody has noted anything of this house yet.
    is_new: bool,
}

impl FormatGate {
    /// Reads which format the house has. A house of which nothing is noted has none yet.
    pub async fn read(log: &dyn Topics) -> anyhow::Result<Self> {
        Self::read_for(ProgramFormats::of_this_program(), log).await
    }

    async fn read_for(program: ProgramFormats, log: &dyn Topics) -> anyhow::Result<Self> {
        let FormatNotes { format, has_notes } = FormatNotes::read(log).await?;
        let is_new = !has_notes;
        let house = match format {
            Some(format) => format,
            None if is_new => HouseFormat { number: program.written, release: None },
            None => HouseFormat::first(),
        };
        Ok(Self { program, house, is_new })
    }

    /// Refuses a house that cannot be read here.
    pub fn refuse_unreadable(&self) -> anyhow::Result<()> {
        match self.program.judge(&self.house) {
            FormatVerdict::Fits | FormatVerdict::Raises { .. } => Ok(()),
            FormatVerdict::Unreadable => Err(NotReadyError(self.describe_unreadable()).into()),
        }
    }

    /// Refuses a house that cannot be read here, and one for which `tidings migrate` has to raise the format first.
    pub fn refuse_unfit(&self) -> anyhow::Result<()> {
        self.refuse_unreadable()?;
        match self.describe_raise() {
            None => Ok(()),
            Some(raise) => Err(NotReadyError(format!("run `tidings migrate` first: {raise}")).into()),
        }
    }

    /// Refuses what must not be raised as it is asked for.
    pub fn refuse_raise(&self, way_back: WayBack, command: RaisingCommand) -> anyhow::Result<()> {
        self.refuse_unreadable()?;
        match self.program.judge(&self.house) {
            FormatVerdict::Raises { has_way_back: false } if way_back == WayBack::Kept => {
                Err(NotReadyError(format!(
                    "{}; make a backup (docs/how-to/backup-and-restore.md), and run `{}`",
                    self.describe_raise().unwrap_or_default(),
                    command.text()
                ))
                .into())
            }
            _ => Ok(()),
        }
    }

    /// Notes the format of a new house, and raises that of another one if this program writes a newer one. Says so.
    pub async fn raise(&self, log: &dyn Topics, now: UtcMillis) -> anyhow::Result<Option<String>> {
        let raise = self.describe_raise();
        if raise.is_none() && !self.is_new {
            return Ok(None);
        }
        let book = HouseBook::read(log).await?;
        let format = HouseFormat { number: self.program.written, release: Some(version().to_owned()) };
        let at = book.house_at().unwrap_or(now);
        write_format(log, book.house().unwrap_or_default(), &format, at).await?;
        Ok(raise)
    }

    /// What is raised, if anything is, and whether there is a way back.
    pub fn describe_raise(&self) -> Option<String> {
        let FormatVerdict::Raises { has_way_back } = self.program.judge(&self.house) else { return None };
        let (house, written, version) = (self.house.number, self.program.written, version());
        let back = if has_way_back {
            "the release before reads it, too, so there is a way back to that one"
        } else {
            "the release before cannot read it, so there is no way back but the backup"
        };
        Some(format!("the format of the house goes from {house} to {written} with tidings {version}: {back}"))
    }

    fn describe_unreadable(&self) -> String {
        let (house, read, version) = (&self.house, self.program.describe_read(), version());
        let remedy = if house.number < *self.program.read.start() {
            "upgrade by way of the releases in between"
        } else {
            "start the program that wrote it, or a newer one, or restore the backup of before the upgrade \
             (docs/how-to/backup-and-restore.md)"
        };
        format!("the house has {house}, and this program, tidings {version}, reads {read}: {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use model::partition::PartitionCount;
    use runtime::Clock;
    use topic::embedded::EmbeddedTopics;

    use super::*;

    const NOW: UtcMillis = UtcMillis(1_000_000);

    fn program(first: u32, last: u32, written: u32, read_before: u32) -> ProgramFormats {
        ProgramFormats { read: first..=last, written, read_before }
    }

    async fn open_log() -> (tempfile::TempDir, EmbeddedTopics) {
        let dir = tempfile::tempdir().unwrap();
        let log = EmbeddedTopics::open(dir.path(), Clock::still(NOW.0)).unwrap();
        house::declare_topics(&log, PartitionCount::new(4).unwrap()).await.unwrap();
        (dir, log)
    }

    async fn gate(program: &ProgramFormats, log: &EmbeddedTopics) -> FormatGate {
        FormatGate::read_for(program.clone(), log).await.unwrap()
    }

    fn refusal(refused: anyhow::Result<()>) -> String {
        let error = refused.unwrap_err();
        assert!(error.is::<NotReadyError>(), "{error:#}");
        error.to_string()
    }

    #[tokio::test]
    async fn a_new_house_has_the_format_of_who_makes_it() {
        let (_dir, log) = open_log().await;
        let first = program(1, 1, 1, 1);
        assert_eq!(gate(&first, &log).await.raise(&log, NOW).await.unwrap(), None);
        let notes = FormatNotes::read(&log).await.unwrap();
        assert_eq!(notes.format.map(|format| format.number), Some(1));
        // Said once.
        let end = log.bounds(wire::topics::HOUSE).await.unwrap()[0].1;
        assert_eq!(gate(&first, &log).await.raise(&log, NOW).await.unwrap(), None);
        assert_eq!(log.bounds(wire::topics::HOUSE).await.unwrap()[0].1, end);
    }

    #[tokio::test]
    async fn a_raise_with_no_way_back_waits_to_be_told_so() {
        let (_dir, log) = open_log().await;
        // A house of before there were formats: its name alone is noted.
        HouseBook::write_house_name(&log, "a", NOW).await.unwrap();
        let (before, bold) = (program(1, 1, 1, 1), program(1, 2, 2, 1));
        gate(&before, &log).await.refuse_unfit().unwrap();
        let found = gate(&bold, &log).await;
        assert!(
            refusal(found.refuse_unfit()).starts_with("run `tidings migrate` first: the format of the house")
        );
        let refused = refusal(found.refuse_raise(WayBack::Kept, RaisingCommand::Migrate));
        assert!(
            refused.contains("from 1 to 2") && refused.contains("no way back but the backup"),
            "{refused}"
        );
        assert!(refused.contains("`tidings migrate --no-way-back`"), "{refused}");
        found.refuse_raise(WayBack::GivenUp, RaisingCommand::Migrate).unwrap();
        assert!(found.raise(&log, NOW).await.unwrap().unwrap().contains("no way back"));
        gate(&bold, &log).await.refuse_unfit().unwrap();
        // The one before names both, and what can be done.
        let refused = refusal(gate(&before, &log).await.refuse_unfit());
        for words in ["has format 2, noted by tidings", "reads format 1", "restore the backup"] {
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_raise_that_the_release_before_reads_asks_for_nothing() {
        let (_dir, log) = open_log().await;
        HouseBook::write_house_name(&log, "a", UtcMillis(5)).await.unwrap();
        let (before, next) = (program(1, 2, 1, 1), program(1, 2, 2, 2));
        let found = gate(&next, &log).await;
        found.refuse_raise(WayBack::Kept, RaisingCommand::Up).unwrap();
        assert!(found.raise(&log, NOW).await.unwrap().unwrap().contains("there is a way back"));
        // Back at the release before, nothing is raised, and nothing lowered.
        let back = gate(&before, &log).await;
        back.refuse_unfit().unwrap();
        assert_eq!(back.raise(&log, NOW).await.unwrap(), None);
        // The house is who it was, as of when it was.
        let book = HouseBook::read(&log).await.unwrap();
        assert_eq!((book.house(), book.house_at()), (Some("a"), Some(UtcMillis(5))));
        assert_eq!(book.format().map(|format| format.number), Some(2));
    }

    #[tokio::test]
    async fn a_house_that_is_too_old_is_brought_up_step_by_step() {
        let (_dir, log) = open_log().await;
        HouseBook::write_house_name(&log, "a", NOW).await.unwrap();
        let refused = refusal(gate(&program(2, 3, 3, 2), &log).await.refuse_unreadable());
        assert!(refused.contains("has format 1") && refused.contains("the releases in between"), "{refused}");
    }
}
