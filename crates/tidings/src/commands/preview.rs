//! `tidings preview`: a message before anybody gets it.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context as _;
use catalogue::Catalogue;
use model::{Millis, civil::Zones};

use super::{
    Out,
    reach::{Files, Reach, reach},
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    preview::{Asked, Of, Place, Preview, Studio},
    say::{self, Paint},
};

/// Where links lead in the previews of a house that does not run and has no `public_url`.
pub(super) const NOWHERE: &str = "http://localhost";

pub fn run(config: &Config, asked: &cli::Preview, out: Out) -> Result<(), Failure> {
    let wanted = Asked {
        kind: asked.kind.clone(),
        person: asked.person.clone(),
        plan: asked.plan.clone(),
        channel: asked.channel.clone(),
        subject: asked.subject.clone(),
    };
    let previews: Vec<Preview> = match reach(config)? {
        Reach::Running(client) => {
            let more = [
                ("kind", &wanted.kind),
                ("plan", &wanted.plan),
                ("channel", &wanted.channel),
                ("subject", &wanted.subject),
            ];
            let more = more.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
            let query: Vec<(&str, &str)> =
                [("person", wanted.person.as_str())].into_iter().chain(more).collect();
            client.get("/admin/preview", &query)?.good()?
        }
        Reach::Files(files) => of_files(config, *files, &wanted)?,
    };
    if let Some(file) = &asked.html {
        write_html(file, &previews)?;
    }
    if out.json {
        return Ok(say::json(&previews)?);
    }
    previews.iter().try_for_each(print)
}

fn of_files(config: &Config, files: Files, asked: &Asked) -> Result<Vec<Preview>, Failure> {
    let Files { runtime, topics, store, clock, catalogue, .. } = files;
    let Some(catalogue) = catalogue else {
        return Err(match config.catalogue.as_deref().map(Catalogue::load) {
            Some(Err(problems)) => {
                Failure::refused(format!("a preview needs a catalogue without problems\n{problems}"))
            }
            Some(Ok(_)) | None => Failure::refused(
                "a preview needs the catalogue: name its folder with --catalogue, TIDINGS_CATALOGUE, or `catalogue:` in tidings.yaml",
            ),
        });
    };
    let public_url = config.public_url.as_deref().unwrap_or(NOWHERE);
    let studio = Studio::new(Arc::new(catalogue), Zones::newest(), public_url).map_err(Failure::refused)?;
    let at = Place { log: &*topics, store: &*store, tenant: &config.tenant, now: Millis(clock.now()) };
    match runtime.block_on(studio.previews(asked, at))? {
        Ok(previews) => Ok(previews),
        Err(slip) => Err(Failure::refused(slip.why())),
    }
}

/// The first mail, as a file to open.
fn write_html(file: &Path, previews: &[Preview]) -> Result<(), Failure> {
    let Some((plan, html)) = previews.iter().find_map(|one| Some((&one.plan, one.html.as_ref()?))) else {
        return Err(Failure::refused("there is no mail among these, so there is no HTML to write"));
    };
    fs::write(file, html).with_context(|| format!("write {}", file.display()))?;
    say::talk(format!("the HTML of {plan} is in {}", file.display()));
    Ok(())
}

fn print(preview: &Preview) -> Result<(), Failure> {
    let paint = Paint::data();
    let Preview { kind, plan, channel, to, date, .. } = preview;
    let line = |name: &str, value: &str| {
        say::data(format!("{} {}", paint.with(say::FAINT, format!("{name:<10}")), say::clean(value)))
    };
    say::data(paint.with(say::BOLD, say::clean(&preview.headline)))?;
    if !preview.from.is_empty() {
        line("from", &preview.from)?;
    }
    line("to", to)?;
    line("date", date)?;
    let kind = kind.as_ref().map(|kind| format!(", kind {kind}")).unwrap_or_default();
    line("plan", &format!("{plan} ({channel}){kind}"))?;
    let of = match preview.of {
        Of::Digest => "all that waits",
        Of::Waiting => "waiting",
        Of::Subject => "as if it came now",
        Of::Example => "made up",
    };
    line("about", &format!("{} ({of})", preview.subjects.join(", ")))?;
    if !preview.preheader.is_empty() {
        line("preheader", &preview.preheader)?;
    }
    for remark in &preview.remarks {
        say::data(format!("{} {}", paint.with(say::WARN, "!"), say::clean(remark)))?;
    }
    for (name, value) in &preview.headers {
        say::data(paint.with(say::FAINT, format!("  {}: {}", say::clean(name), say::clean(value))))?;
    }
    say::data("")?;
    for card in &preview.cards {
        line(&card.platform, &card.title)?;
        line("", &card.body)?;
        for (name, value) in [("picture", &card.image), ("opens", &card.opens)] {
            if let Some(value) = value {
                line("", &format!("{name} {value}"))?;
            }
        }
    }
    if preview.cards.is_empty() {
        preview.text.lines().try_for_each(|line| say::data(say::clean(line)))?;
    }
    Ok(say::data("")?)
}
