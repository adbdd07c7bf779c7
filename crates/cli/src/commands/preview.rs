//! `tidings preview`: a message before anybody gets it.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context as _;
use model::{UtcMillis, civil_time::ZoneRules};
use settings::config::Config;
use shell::{
    failure::CommandError,
    terminal::{self, TextPainter},
};
use views::preview::{LookupContext, MessagePreview, PreviewRequest, PreviewSource, PreviewStudio};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, explain_missing_catalogue, reach_house},
};
use crate::arguments as cli;

/// Where links lead in the previews of a house that does not run and has no `public_url`.
pub(super) const NOWHERE: &str = "http://localhost";

pub fn run(config: &Config, asked: &cli::PreviewArgs, out: OutputStyle) -> Result<(), CommandError> {
    let wanted = PreviewRequest {
        kind: asked.kind.clone(),
        person: asked.person.clone(),
        plan: asked.plan.clone(),
        channel: asked.channel.clone(),
        subject: asked.subject.clone(),
    };
    let previews: Vec<MessagePreview> = match reach_house(config)? {
        HouseAccess::Running(client) => {
            let more = [
                ("kind", &wanted.kind),
                ("plan", &wanted.plan),
                ("channel", &wanted.channel),
                ("subject", &wanted.subject),
            ];
            let more = more.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
            let query: Vec<(&str, &str)> =
                [("person", wanted.person.as_str())].into_iter().chain(more).collect();
            client.get("/admin/preview", &query)?.into_value()?
        }
        HouseAccess::Files(files) => preview_from_engines(config, *files, &wanted)?,
    };
    if let Some(file) = &asked.html {
        write_html(file, &previews)?;
    }
    if out.json {
        return Ok(terminal::print_json(&previews)?);
    }
    previews.iter().try_for_each(print_preview)
}

fn preview_from_engines(
    config: &Config,
    files: DirectEngines,
    asked: &PreviewRequest,
) -> Result<Vec<MessagePreview>, CommandError> {
    let DirectEngines { runtime, topics, store, clock, catalogue, .. } = files;
    let Some(catalogue) = catalogue else {
        return Err(explain_missing_catalogue(config, "a preview"));
    };
    let public_url = config.public_url.as_deref().unwrap_or(NOWHERE);
    let studio = PreviewStudio::new(Arc::new(catalogue), ZoneRules::load_newest(), public_url)
        .map_err(CommandError::from_refusal)?;
    let at =
        LookupContext { log: &*topics, store: &*store, tenant: &config.tenant, now: UtcMillis(clock.now()) };
    match runtime.block_on(studio.build_previews(asked, at))? {
        Ok(previews) => Ok(previews),
        Err(slip) => Err(CommandError::from_refusal(slip.reason())),
    }
}

/// The first mail, as a file to open.
fn write_html(file: &Path, previews: &[MessagePreview]) -> Result<(), CommandError> {
    let Some((plan, html)) = previews.iter().find_map(|one| Some((&one.plan, one.html.as_ref()?))) else {
        return Err(CommandError::from_refusal("there is no mail among these, so there is no HTML to write"));
    };
    fs::write(file, html).with_context(|| format!("write {}", file.display()))?;
    terminal::print_talk(format!("the HTML of {plan} is in {}", file.display()));
    Ok(())
}

fn print_preview(preview: &MessagePreview) -> Result<(), CommandError> {
    let paint = TextPainter::for_data();
    let MessagePreview { kind, plan, channel, to, date, .. } = preview;
    let line = |name: &str, value: &str| {
        terminal::print_data(format!(
            "{} {}",
            paint.with(terminal::FAINT, format!("{name:<10}")),
            terminal::clean_text(value)
        ))
    };
    terminal::print_data(paint.with(terminal::BOLD, terminal::clean_text(&preview.headline)))?;
    if !preview.from.is_empty() {
        line("from", &preview.from)?;
    }
    line("to", to)?;
    line("date", date)?;
    let kind = kind.as_ref().map(|kind| format!(", kind {kind}")).unwrap_or_default();
    line("plan", &format!("{plan} ({channel}){kind}"))?;
    let of = match preview.of {
        PreviewSource::Digest => "everything that waits",
        PreviewSource::Waiting => "waiting",
        PreviewSource::Subject => "as if it came now",
        PreviewSource::Example => "made up",
    };
    line("about", &format!("{} ({of})", preview.subjects.join(", ")))?;
    if !preview.preheader.is_empty() {
        line("preheader", &preview.preheader)?;
    }
    for remark in &preview.remarks {
        terminal::print_data(format!(
            "{} {}",
            paint.with(terminal::WARN, "!"),
            terminal::clean_text(remark)
        ))?;
    }
    for (name, value) in &preview.headers {
        terminal::print_data(paint.with(
            terminal::FAINT,
            format!("  {}: {}", terminal::clean_text(name), terminal::clean_text(value)),
        ))?;
    }
    terminal::print_data("")?;
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
        preview.text.lines().try_for_each(|line| terminal::print_data(terminal::clean_text(line)))?;
    }
    Ok(terminal::print_data("")?)
}
