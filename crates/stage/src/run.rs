//! Runs a scenario against a world. Time moves only here, from one due instant to the next, and the house
//! comes to rest after each, so everything that is due happens in order and in every run alike.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context as _, bail};
use model::{Millis, Person, Tenant};
use tokio::time::timeout;

use crate::{
    arrivals::Arrivals,
    expect,
    report::{Failure, Report},
    request::{self, Request},
    scenario::{Act, Expected, Line, Restart, Scenario, Via, What},
    world::{Answer, Mail, World},
};

/// How strictly time is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// How much later than it is written an expected mail may come, in virtual milliseconds: engines that
    /// fail now and then cost a house minutes, and nothing else. It never goes beyond the next line's time.
    pub late_ms_max: i64,
    /// Real time for one line. Nothing waits for it: it only turns a house that hangs into an error.
    pub line_time_max: Duration,
}

impl Pace {
    /// To the millisecond.
    pub const EXACT: Self = Self { late_ms_max: 0, line_time_max: Duration::from_secs(60) };
}

/// Real time for asking a house that hangs what it waits for.
const ASK_TIME_MAX: Duration = Duration::from_secs(5);

/// Runs a scenario from its start, to the millisecond; the world's clock must stand there.
pub async fn run(scenario: &Scenario, world: &mut dyn World) -> Report {
    run_at(Pace::EXACT, scenario, world).await
}

/// Runs a scenario from its start at a pace.
pub async fn run_at(pace: Pace, scenario: &Scenario, world: &mut dyn World) -> Report {
    let mut run = Run {
        pace,
        scenario,
        world,
        trace: Vec::new(),
        mails: Arrivals::default(),
        aside: Arrivals::default(),
        refusals: Vec::new(),
        last_event: None,
    };
    let failure = run.all().await.err();
    run.fates().await;
    Report { file: scenario.file.clone(), proves: scenario.proves.clone(), trace: run.trace, failure }
}

pub(crate) struct Run<'a> {
    pace: Pace,
    pub scenario: &'a Scenario,
    pub world: &'a mut dyn World,
    trace: Vec<String>,
    pub mails: Arrivals<Mail>,
    /// Reasons of what was put aside.
    pub aside: Arrivals<String>,
    /// Why the line before was refused.
    pub refusals: Vec<String>,
    last_event: Option<(Via, String)>,
}

impl Run<'_> {
    async fn all(&mut self) -> Result<(), Failure> {
        for (i, line) in self.scenario.lines.iter().enumerate() {
            let what = match timeout(self.pace.line_time_max, self.line(i, line)).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => self.hangs().await,
            };
            return Err(Failure { line: line.number, text: line.text.clone(), what });
        }
        let line = self.scenario.lines.last().map_or(1, |line| line.number);
        let at_the_end = |error| Failure { line, text: "(the end)".to_owned(), what: format!("{error:#}") };
        self.nothing_unexpected(None).map_err(at_the_end)
    }

    async fn line(&mut self, index: usize, line: &Line) -> anyhow::Result<()> {
        self.advance(line.until).await?;
        match &line.what {
            What::Do(act) => {
                self.nothing_unexpected(None)?;
                self.note(&line.text);
                self.act(line, act).await?;
                self.not_refused(index)?;
                self.rest().await
            }
            What::Expect(expected) => {
                self.nothing_unexpected(Some(line.from))?;
                if let Expected::Mail(expected) = expected {
                    let fits = |mail: &Mail| expected.is_of(&line.tenant, mail);
                    self.wait_for_mail(self.latest(index, line), fits).await?;
                }
                expect::check(self, &line.tenant, expected).await
            }
        }
    }

    /// Moves the clock, from one instant that somebody waits for to the next.
    async fn advance(&mut self, until: Millis) -> anyhow::Result<()> {
        self.rest().await?;
        while self.now() < until {
            let next = self.world.clock().next_wake().map_or(until, |at| Millis(at).min(until));
            self.world.clock().advance_to(next.0);
            self.rest().await?;
        }
        Ok(())
    }

    /// How long a line's mail may let itself be waited for.
    fn latest(&self, index: usize, line: &Line) -> Millis {
        let next = self.scenario.lines[index..].iter().map(|next| next.until).find(|at| *at > line.until);
        let latest = line.until.plus(self.pace.late_ms_max);
        next.map_or(latest, |next| latest.min(next.plus(-1))).max(line.until)
    }

    async fn wait_for_mail(&mut self, latest: Millis, fits: impl Fn(&Mail) -> bool) -> anyhow::Result<()> {
        while !self.mails.iter().any(|(_, mail)| fits(mail)) {
            match self.world.clock().next_wake() {
                Some(at) if at <= latest.0 => self.advance(Millis(at)).await?,
                _ => break,
            }
        }
        Ok(())
    }

    /// Lets the house come to rest, and takes in what came of it.
    async fn rest(&mut self) -> anyhow::Result<()> {
        self.world.settle().await?;
        let mut mails = self.mails.news(&self.world.mails().await?).context("mails that left")?;
        // Those of one instant have no order between persons, nor between channels.
        let place =
            |mail: &Mail| (mail.tenant.clone(), mail.person.clone(), mail.headline.clone(), mail.channel);
        mails.sort_by_cached_key(place);
        for mail in mails {
            self.note(expect::said(&mail));
            self.mails.push(self.now(), mail);
        }
        let mut aside = self.aside.news(&self.world.quarantine().await?).context("records put aside")?;
        aside.sort();
        for reason in aside {
            self.note(format!("put aside: {reason}"));
            self.aside.push(self.now(), reason);
        }
        Ok(())
    }

    async fn act(&mut self, line: &Line, act: &Act) -> anyhow::Result<()> {
        let (number, at, tenant) = (line.number, line.until, &line.tenant);
        self.refusals.clear();
        match act {
            Act::Profile { person, fields } => {
                self.ask(tenant, request::profile(number, at, person, fields)).await
            }
            Act::Follow { person, target, on } => {
                self.ask(tenant, request::follow(number, at, person, target, *on)).await
            }
            Act::Mute { person, muted, on } => {
                self.ask(tenant, request::mute(number, at, person, muted, *on)).await
            }
            Act::Feedback { person, about, did } => {
                self.ask(tenant, request::feedback(number, at, person, about, *did)).await
            }
            Act::Erase { person, welcomes } => {
                self.ask(tenant, request::erase(number, at, person, *welcomes)).await
            }
            Act::App { person, connected } => self.world.app(person, *connected).await,
            Act::Device { person, device, platform } => {
                self.ask(tenant, request::device(number, at, person, device, platform)).await
            }
            Act::Seen { person, surface } => {
                self.ask(tenant, request::seen(number, at, person, surface)).await
            }
            Act::Event(event) => self.send(tenant, event.via, request::event(event)).await,
            Act::Again => match self.last_event.clone() {
                Some((via, body)) => self.send(tenant, via, body).await,
                None => bail!("there is no event that could come again"),
            },
            Act::Upstream(bytes) => self.world.upstream(bytes).await,
            Act::Post { path, body, status, has } => {
                let answer = self.world.post(tenant, path, body).await?;
                self.note(format!("answered {} {}", answer.status, answer.body));
                expect::answer(&answer, *status, has)
            }
            Act::Restart(how) => {
                self.world.stop(*how).await?;
                self.world.start(None).await
            }
            Act::Stop => self.world.stop(Restart::Orderly).await,
            Act::Start { catalogue } => self.world.start(catalogue.as_deref()).await,
            Act::MailServer { takes } => self.world.mail_server(*takes).await,
            Act::Returned { back, person } => self.world.returned(tenant, person, *back).await,
            Act::Lift { person, stream } => self.world.lift(tenant, person, stream.as_deref()).await,
            Act::Replay { topic, from, tells_missing } => {
                self.world.replay(topic, *from, *tells_missing).await
            }
            Act::Release { plan, person } => self.world.release(tenant, plan, person.as_ref()).await,
            Act::Discard { plan, person, key } => {
                self.world.discard(tenant, plan, person, key.as_deref()).await
            }
            Act::Archive { before } => self.world.archive(*before).await,
        }
    }

    async fn send(&mut self, tenant: &Tenant, via: Via, body: String) -> anyhow::Result<()> {
        self.last_event = Some((via, body.clone()));
        match via {
            Via::Http => self.ask(tenant, Request { path: request::CHANGES, body }).await,
            Via::Topic => self.world.upstream(body.as_bytes()).await,
        }
    }

    async fn ask(&mut self, tenant: &Tenant, Request { path, body }: Request) -> anyhow::Result<()> {
        let answer: Answer = self.world.post(tenant, path, &body).await?;
        self.refusals = answer.refusals();
        for reason in self.refusals.clone() {
            self.note(format!("refused: {reason}"));
        }
        Ok(())
    }

    /// What was refused must be expected by the very next line.
    fn not_refused(&self, index: usize) -> anyhow::Result<()> {
        let next = self.scenario.lines.get(index + 1).map(|line| &line.what);
        match self.refusals.first() {
            Some(reason) if !matches!(next, Some(What::Expect(Expected::Rejected { .. }))) => {
                bail!("it was refused: {reason}")
            }
            _ => Ok(()),
        }
    }

    /// Nothing may have come (before an instant) that no line expected.
    fn nothing_unexpected(&self, before: Option<Millis>) -> anyhow::Result<()> {
        let early = |at: Millis| before.is_none_or(|before| at < before);
        let show = |at: Millis| self.scenario.calendar.show(at);
        if let Some((at, mail)) = self.mails.iter().find(|(at, _)| early(*at)) {
            let what = crate::verb::word(mail.channel);
            bail!("a {what} came that no line expects:\n    {}  {}", show(*at), expect::said(mail));
        }
        if let Some((at, reason)) = self.aside.iter().find(|(at, _)| early(*at)) {
            bail!("something was put aside that no line expects:\n    {}  {reason}", show(*at));
        }
        Ok(())
    }

    async fn hangs(&mut self) -> String {
        let lagging = timeout(ASK_TIME_MAX, self.world.lagging()).await;
        let lagging = match lagging {
            Ok(Ok(stages)) if stages.is_empty() => "no stage is behind".to_owned(),
            Ok(Ok(stages)) => format!("behind: {}", stages.join(", ")),
            Ok(Err(error)) => format!("its stages could not be asked: {error:#}"),
            Err(_) => "its stages do not answer either".to_owned(),
        };
        format!("the house does not come to rest within {:?}; {lagging}", self.pace.line_time_max)
    }

    /// What became of every entry of everybody the scenario names.
    async fn fates(&mut self) {
        let lines = self.scenario.lines.iter();
        let persons: BTreeSet<(&Tenant, &Person)> =
            lines.flat_map(|line| line.persons().into_iter().map(|person| (&line.tenant, person))).collect();
        for (tenant, person) in persons {
            let Ok(Ok(entries)) = timeout(ASK_TIME_MAX, self.world.entries(tenant, person)).await else {
                return;
            };
            let person = expect::whom(tenant, person);
            for entry in entries {
                let at = self.scenario.calendar.show(entry.at);
                let fates = entry.fates_by_channel();
                self.trace.push(format!("{at}  {person}'s entry about {}: {fates}", entry.subject));
            }
        }
    }

    fn now(&self) -> Millis {
        Millis(self.world.clock().now())
    }

    fn note(&mut self, what: impl AsRef<str>) {
        let at = self.scenario.calendar.show(self.now());
        self.trace.push(format!("{at}  {}", what.as_ref()));
    }
}
