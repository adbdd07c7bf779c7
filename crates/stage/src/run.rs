//! Runs a scenario against a world. Time moves only here, from one due instant to the next, and the house
//! comes to rest after each, so everything that is due happens in order and in every run alike.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context as _, bail};
use model::{Person, Tenant, UtcMillis};
use tokio::time::timeout;

use crate::{
    arrivals::HouseArrivals,
    channel_word::channel_word,
    expectation,
    report::{ScenarioFailure, ScenarioNote, ScenarioReport},
    request::{self, StageRequest},
    revocation,
    scenario::{
        EventRoute, RestartMode, Scenario, ScenarioAct, ScenarioExpectation, ScenarioLine, ScenarioStep,
    },
    world::{StageAnswer, StageMail, StageWorld},
};

/// How strictly time is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScenarioPace {
    /// How much later than it is written an expected mail may come, in virtual milliseconds: engines that
    /// fail now and then cost a house minutes, and nothing else. It never goes beyond the next line's time.
    pub late_ms_max: i64,
    /// Real time for one line. Nothing waits for it: it only turns a house that hangs into an error.
    pub line_time_max: Duration,
}

impl ScenarioPace {
    /// To the millisecond.
    pub const EXACT: Self = Self { late_ms_max: 0, line_time_max: Duration::from_secs(180) };
}

/// Real time for asking a house that hangs what it waits for.
const ASK_TIME_MAX: Duration = Duration::from_secs(20);

/// Runs a scenario from its start, to the millisecond; the world's clock must stand there.
pub async fn run(scenario: &Scenario, world: &mut dyn StageWorld) -> ScenarioReport {
    run_at(ScenarioPace::EXACT, scenario, world).await
}

/// Runs a scenario from its start at a pace.
pub async fn run_at(pace: ScenarioPace, scenario: &Scenario, world: &mut dyn StageWorld) -> ScenarioReport {
    let mut run = ScenarioRun {
        pace,
        scenario,
        world,
        trace: Vec::new(),
        notes: Vec::new(),
        arrived: HouseArrivals::default(),
        last_event: None,
    };
    let failure = run.run_lines().await.err();
    run.trace_fates().await;
    let (file, proves) = (scenario.file.clone(), scenario.proves.clone());
    ScenarioReport { file, proves, trace: run.trace, notes: run.notes, failure }
}

struct ScenarioRun<'a> {
    pace: ScenarioPace,
    scenario: &'a Scenario,
    world: &'a mut dyn StageWorld,
    trace: Vec<String>,
    notes: Vec<ScenarioNote>,
    arrived: HouseArrivals,
    last_event: Option<(EventRoute, String)>,
}

impl ScenarioRun<'_> {
    async fn run_lines(&mut self) -> Result<(), ScenarioFailure> {
        for (i, line) in self.scenario.lines.iter().enumerate() {
            let what = match timeout(self.pace.line_time_max, self.run_line(i, line)).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => self.describe_hang().await,
            };
            return Err(ScenarioFailure { line: line.number, text: line.text.clone(), what });
        }
        let line = self.scenario.lines.last().map_or(1, |line| line.number);
        let at_the_end =
            |error| ScenarioFailure { line, text: "(the end)".to_owned(), what: format!("{error:#}") };
        self.check_nothing_unexpected(None).map_err(at_the_end)
    }

    async fn run_line(&mut self, index: usize, line: &ScenarioLine) -> anyhow::Result<()> {
        self.advance(line.until).await?;
        match &line.what {
            ScenarioStep::Do(act) => {
                self.check_nothing_unexpected(None)?;
                self.trace_line(&line.text);
                self.run_act(line, act).await?;
                self.note_answer(line);
                self.check_not_refused(index)?;
                self.settle_world().await
            }
            ScenarioStep::Expect(expected) => {
                self.check_nothing_unexpected(Some(line.from))?;
                if let ScenarioExpectation::Mail(expected) = expected {
                    let fits = |mail: &StageMail| mail.fits(expected, &line.tenant);
                    self.wait_for_mail(self.latest_arrival(index, line), fits).await?;
                }
                expectation::check_expectation(self.world, &mut self.arrived, &line.tenant, expected).await
            }
        }
    }

    /// Moves the clock, from one instant that somebody waits for to the next.
    async fn advance(&mut self, until: UtcMillis) -> anyhow::Result<()> {
        self.settle_world().await?;
        while self.now() < until {
            let next = self.world.clock().next_wake().map_or(until, |at| UtcMillis(at).min(until));
            self.world.clock().advance_to(next.0);
            self.settle_world().await?;
        }
        Ok(())
    }

    /// How long a line's mail may let itself be waited for.
    fn latest_arrival(&self, index: usize, line: &ScenarioLine) -> UtcMillis {
        let next = self.scenario.lines[index..].iter().map(|next| next.until).find(|at| *at > line.until);
        let latest = line.until.plus(self.pace.late_ms_max);
        next.map_or(latest, |next| latest.min(next.plus(-1))).max(line.until)
    }

    async fn wait_for_mail(
        &mut self,
        latest: UtcMillis,
        fits: impl Fn(&StageMail) -> bool,
    ) -> anyhow::Result<()> {
        while !self.arrived.mails.iter().any(|(_, mail)| fits(mail)) {
            match self.world.clock().next_wake() {
                Some(at) if at <= latest.0 => self.advance(UtcMillis(at)).await?,
                _ => break,
            }
        }
        Ok(())
    }

    /// Lets the house come to rest, and takes in what came of it.
    async fn settle_world(&mut self) -> anyhow::Result<()> {
        self.world.settle().await?;
        let mut mails = self.arrived.mails.take_new(&self.world.mails().await?).context("mails that left")?;
        // Those of one instant have no order between persons, nor between channels.
        let place = |mail: &StageMail| {
            (mail.tenant.clone(), mail.person.clone(), mail.headline.clone(), mail.channel)
        };
        mails.sort_by_cached_key(place);
        for mail in mails {
            self.trace_line(expectation::describe_mail(&mail));
            self.arrived.mails.push(self.now(), mail);
        }
        let mut aside =
            self.arrived.aside.take_new(&self.world.quarantine().await?).context("records put aside")?;
        aside.sort();
        for reason in aside {
            self.trace_line(format!("put aside: {reason}"));
            self.arrived.aside.push(self.now(), reason);
        }
        Ok(())
    }

    async fn run_act(&mut self, line: &ScenarioLine, act: &ScenarioAct) -> anyhow::Result<()> {
        let (number, at, tenant) = (line.number, line.until, &line.tenant);
        self.arrived.refusals.clear();
        self.arrived.notes.clear();
        match act {
            ScenarioAct::Profile { person, fields } => {
                self.send_request(tenant, request::profile_request(number, at, person, fields)).await
            }
            ScenarioAct::Follow { person, target, on } => {
                self.send_request(tenant, request::follow_request(number, at, person, target, *on)).await
            }
            ScenarioAct::Mute { person, muted, on } => {
                self.send_request(tenant, request::mute_request(number, at, person, muted, *on)).await
            }
            ScenarioAct::Prefer { person, choice, of } => {
                self.send_request(tenant, request::preference_request(number, at, (person, choice), of)).await
            }
            ScenarioAct::Feedback { person, about, did } => {
                self.send_request(tenant, request::feedback_request(number, at, person, about, *did)).await
            }
            ScenarioAct::Erase { person, welcomes } => {
                self.send_request(tenant, request::erase_request(number, at, person, *welcomes)).await
            }
            ScenarioAct::App { person, connected } => self.world.app(person, *connected).await,
            ScenarioAct::Device { person, device, platform } => {
                self.send_request(tenant, request::device_request(number, at, person, device, platform)).await
            }
            ScenarioAct::Seen { person, surface } => {
                self.send_request(tenant, request::seen_request(number, at, person, surface)).await
            }
            ScenarioAct::Event(event) => self.send_event(tenant, event.via, request::event_body(event)).await,
            ScenarioAct::Again => match self.last_event.clone() {
                Some((via, body)) => self.send_event(tenant, via, body).await,
                None => bail!("there is no event to repeat"),
            },
            ScenarioAct::Revoke(revoked) => {
                self.send_request(tenant, revocation::revoke_request(number, at, revoked)).await
            }
            ScenarioAct::Upstream(bytes) => self.world.upstream(bytes).await,
            ScenarioAct::Post { path, body, status, has } => {
                let answer = self.world.post(tenant, path, body).await?;
                self.trace_line(format!("answered {} {}", answer.status, answer.body));
                expectation::check_answer(&answer, *status, has)
            }
            ScenarioAct::Restart(how) => {
                self.world.stop(*how).await?;
                self.world.start(None).await
            }
            ScenarioAct::Stop => self.world.stop(RestartMode::Orderly).await,
            ScenarioAct::Start { catalogue } => self.world.start(catalogue.as_deref()).await,
            ScenarioAct::MailServer { takes } => self.world.mail_server(*takes).await,
            ScenarioAct::Returned { back, person } => {
                self.world.return_last_mail(tenant, person, *back).await
            }
            ScenarioAct::Lift { person, stream } => self.world.lift(tenant, person, stream.as_deref()).await,
            ScenarioAct::Replay { topic, from, tells_missing } => {
                self.world.replay(topic, *from, *tells_missing).await
            }
            ScenarioAct::Release { plan, person } => self.world.release(tenant, plan, person.as_ref()).await,
            ScenarioAct::Discard { plan, person, key } => {
                self.world.discard(tenant, plan, person, key.as_deref()).await
            }
            ScenarioAct::Pause { scope, is_paused } => self.world.set_pause(scope, *is_paused).await,
            ScenarioAct::Archive { before } => self.world.archive(*before).await,
        }
    }

    async fn send_event(&mut self, tenant: &Tenant, via: EventRoute, body: String) -> anyhow::Result<()> {
        self.last_event = Some((via, body.clone()));
        match via {
            EventRoute::Http => {
                self.send_request(tenant, StageRequest { path: request::CHANGES, body }).await
            }
            EventRoute::Topic => self.world.upstream(body.as_bytes()).await,
        }
    }

    async fn send_request(
        &mut self,
        tenant: &Tenant,
        StageRequest { path, body }: StageRequest,
    ) -> anyhow::Result<()> {
        let answer: StageAnswer = self.world.post(tenant, path, &body).await?;
        self.arrived.refusals = answer.refusals();
        self.arrived.notes = answer.notes();
        for reason in self.arrived.refusals.clone() {
            self.trace_line(format!("refused: {reason}"));
        }
        Ok(())
    }

    /// Takes in what the house noted on a line.
    fn note_answer(&mut self, line: &ScenarioLine) {
        for what in std::mem::take(&mut self.arrived.notes) {
            self.trace_line(format!("noted: {what}"));
            self.notes.push(ScenarioNote { line: line.number, what });
        }
    }

    /// What was refused must be expected by the very next line.
    fn check_not_refused(&self, index: usize) -> anyhow::Result<()> {
        let next = self.scenario.lines.get(index + 1).map(|line| &line.what);
        match self.arrived.refusals.first() {
            Some(reason)
                if !matches!(next, Some(ScenarioStep::Expect(ScenarioExpectation::Rejected { .. }))) =>
            {
                bail!("it was refused: {reason}")
            }
            _ => Ok(()),
        }
    }

    /// Nothing may have come (before an instant) that no line expected.
    fn check_nothing_unexpected(&self, before: Option<UtcMillis>) -> anyhow::Result<()> {
        let early = |at: UtcMillis| before.is_none_or(|before| at < before);
        let show = |at: UtcMillis| self.scenario.calendar.show(at);
        if let Some((at, mail)) = self.arrived.mails.iter().find(|(at, _)| early(*at)) {
            let what = channel_word(mail.channel);
            bail!("an unexpected {what} came:\n    {}  {}", show(*at), expectation::describe_mail(mail));
        }
        if let Some((at, reason)) = self.arrived.aside.iter().find(|(at, _)| early(*at)) {
            bail!("something was put aside unexpectedly:\n    {}  {reason}", show(*at));
        }
        Ok(())
    }

    async fn describe_hang(&mut self) -> String {
        let lagging = timeout(ASK_TIME_MAX, self.world.lagging_stages()).await;
        let lagging = match lagging {
            Ok(Ok(stages)) if stages.is_empty() => "no stage is behind".to_owned(),
            Ok(Ok(stages)) => format!("behind: {}", stages.join(", ")),
            Ok(Err(error)) => format!("the lag of its stages is unknown: {error:#}"),
            Err(_) => "the lag of its stages is unknown, because the log does not answer".to_owned(),
        };
        format!("the house does not come to rest within {:?}; {lagging}", self.pace.line_time_max)
    }

    /// What became of every entry of everybody the scenario names.
    async fn trace_fates(&mut self) {
        let lines = self.scenario.lines.iter();
        let persons: BTreeSet<(&Tenant, &Person)> =
            lines.flat_map(|line| line.persons().into_iter().map(|person| (&line.tenant, person))).collect();
        for (tenant, person) in persons {
            let Ok(Ok(entries)) = timeout(ASK_TIME_MAX, self.world.entries(tenant, person)).await else {
                return;
            };
            let person = expectation::describe_person(tenant, person);
            for entry in entries {
                let at = self.scenario.calendar.show(entry.at);
                let fates = entry.fates_by_channel();
                self.trace.push(format!("{at}  {person}'s entry about {}: {fates}", entry.subject));
            }
        }
    }

    fn now(&self) -> UtcMillis {
        UtcMillis(self.world.clock().now())
    }

    fn trace_line(&mut self, what: impl AsRef<str>) {
        let at = self.scenario.calendar.show(self.now());
        self.trace.push(format!("{at}  {}", what.as_ref()));
    }
}
