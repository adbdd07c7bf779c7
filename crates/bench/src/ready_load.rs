//! Readys for the sender's room: persons who follow authors, works of these in their days, and for each person a Ready
//! of them. Who runs them through the room is [`crate::sender_room`].

use std::collections::BTreeMap;

use anyhow::anyhow;
use catalogue::Catalogue;
use model::{
    AudienceMatch, Channel, Crowd, CrowdEnrolment, DayRow, Entry, EntryKey, EntryReason, EventKey, Kind,
    Person, PlanName, SubjectRef, Tenant, UtcMillis, Value, VersionedState,
    device::{self, DevicePlatform, PushDevice},
    entry::DayKey,
    limits::DAY_MS,
    partition::PartitionCount,
    person::profile,
    ready::{self, Ready, ReadyEntry},
};
use room::records::ready_record;
use runtime::Clock;
use store::{DayRows, StateKey, Store};
use topic::{NewRecord, Topics};

/// What happens to works is told by mail, and by push.
const CATALOGUE: &str = r"
catalogue: bench
subjects:
  work: {title: text, image: url, page: url, medium: text, author: ref author, published: flag}
  author: {name: text}
kinds:
  news:
    on: work.published
    to: {followers_of: author}
    while: subject.published
    says: '{{ author.name }} added “{{ subject.title }}”'
    plans: [daily, at_once, alarm]
plans:
  daily:
    channel: email
    close: {daily: '09:00', zone: person}
    look_back: 7d
    from: Press <morning@press.example>
    headline: '“{{ (items | first).name }}” and {{ count - 1 }} more'
    template: digest.mjml
    text: digest.txt
    sections:
      - {title: News, kinds: [news], most: 8, order: newest}
  at_once:
    channel: push
    close: {after: 1m}
    look_back: 1d
    headline: '{{ (items | first).says }}'
    body: '{{ count }} new'
    opens: '{{ (items | first).subject.page }}'
    sections:
      - {title: News, kinds: [news], most: 8, order: newest}
  alarm:
    channel: push
    close: at_once
    urgent: true
    look_back: 1d
    headline: '{{ (items | first).says }}'
    body: '{{ count }} new'
    opens: '{{ (items | first).subject.page }}'
    sections:
      - {title: News, kinds: [news], most: 8, order: newest}
";
/// The plan of it that is urgent.
pub const URGENT_PLAN: &str = "alarm";
const KIND: &str = "news";

/// Persons written at once.
const AT_ONCE: usize = 1_000;

/// What each person is told, and how.
pub struct ReadyLoad {
    pub channel: Channel,
    pub plan: PlanName,
    pub kind: Kind,
    pub works: usize,
    /// Where a person's pushes go, by the person's number.
    pub device: Box<dyn Fn(usize) -> PushDevice + Send + Sync>,
    persons: Vec<Person>,
    tenant: Tenant,
    /// Whether the plan is urgent.
    is_urgent: bool,
    now: UtcMillis,
}

impl ReadyLoad {
    /// So many persons, each of whom is told so many works.
    pub fn new(
        told: (Channel, &str),
        device: impl Fn(usize) -> PushDevice + Send + Sync + 'static,
        persons: usize,
        works: usize,
    ) -> anyhow::Result<Self> {
        let persons = (0..persons).map(|n| Person::new(&format!("person-{n}"))).collect::<Result<_, _>>()?;
        let (plan, kind, tenant) = (PlanName::new(told.1)?, Kind::new(KIND)?, Tenant::new("main")?);
        Ok(Self {
            channel: told.0,
            plan,
            kind,
            works,
            device: Box::new(device),
            persons,
            tenant,
            is_urgent: told.1 == URGENT_PLAN,
            now: UtcMillis(Clock::real(0).now()),
        })
    }

    /// The same of another tenant.
    #[must_use]
    pub fn of_tenant(self, tenant: Tenant) -> Self {
        Self { tenant, ..self }
    }

    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    pub fn persons(&self) -> &[Person] {
        &self.persons
    }

    /// Writes what the intake and the fan-out would have written.
    pub async fn fill(&self, store: &dyn Store) -> anyhow::Result<()> {
        let mut subjects = Vec::new();
        for number in 0..self.works {
            let key = |of| StateKey::Subject(self.tenant.clone(), of);
            subjects.push((
                key(author_ref(number)?),
                VersionedState::from_values(1, [("name", Some(Value::from_text("Mira Holm")))]),
            ));
            subjects.push((key(work_ref(number)?), work_state(number)?));
        }
        store.merge(subjects).await?;
        let rows = (0..self.works).map(|number| self.row(number)).collect::<Result<Vec<_>, _>>()?;
        for (part, some) in self.persons.chunks(AT_ONCE).enumerate() {
            let profile = |(number, person): (usize, &Person)| {
                (StateKey::Person(self.tenant.clone(), person.clone()), self.profile(part * AT_ONCE + number))
            };
            store.merge(some.iter().enumerate().map(profile).collect()).await?;
            let mut enrolments = Vec::new();
            for number in 0..self.works {
                let crowd = Crowd::Followers(author_ref(number)?);
                enrolments.extend(some.iter().map(|person| CrowdEnrolment {
                    tenant: self.tenant.clone(),
                    person: person.clone(),
                    crowd: crowd.clone(),
                    version: 1,
                    on: true,
                }));
            }
            store.enrol(enrolments).await?;
            store.write(some.iter().flat_map(|person| self.days(person, &rows)).collect(), self.now).await?;
        }
        Ok(())
    }

    /// Puts one Ready of each of these persons into the log; each opening makes other ones.
    pub async fn announce(
        &self,
        topics: &dyn Topics,
        persons: &[Person],
        opening: i64,
    ) -> anyhow::Result<Vec<Ready>> {
        let readys =
            persons.iter().map(|person| self.build_ready(person, opening)).collect::<Result<Vec<_>, _>>()?;
        for some in readys.chunks(AT_ONCE) {
            let record = |ready: &Ready| self.record(ready);
            topics.append(some.iter().map(record).collect::<Result<_, _>>()?).await?;
        }
        Ok(readys)
    }

    /// As the digest writes it.
    pub fn record(&self, ready: &Ready) -> anyhow::Result<NewRecord> {
        Ok(ready_record(ready, self.is_urgent, PartitionCount::USUAL)?)
    }

    pub fn build_ready(&self, person: &Person, opening: i64) -> anyhow::Result<Ready> {
        let opening = self.now.plus(opening);
        let entry = |number| {
            anyhow::Ok(ReadyEntry::new(self.key(number), work_ref(number)?, vec![self.reason(number)?]))
        };
        Ok(Ready {
            id: ready::derive_ready_id(&self.tenant, person, &self.plan, "", opening, 0),
            tenant: self.tenant.clone(),
            person: person.clone(),
            plan: self.plan.clone(),
            key: "".into(),
            opening,
            channel: self.channel,
            silent: false,
            attempt: 0,
            due: self.now,
            expires: self.now.plus(DAY_MS),
            entries: (0..self.works).map(entry).collect::<Result<_, _>>()?,
            more: vec![0],
            badge: false,
            renews: None,
        })
    }

    /// A minute between two, so that they have an order.
    fn key(&self, number: usize) -> EntryKey {
        let text = number.to_string();
        let minutes = i64::try_from(number).unwrap_or(0);
        EntryKey {
            occurred: self.now.plus(-60_000 * (minutes + 1)),
            event: EventKey::from_source_id(&self.tenant, "bench", &text),
        }
    }

    fn reason(&self, number: usize) -> anyhow::Result<EntryReason> {
        Ok(EntryReason { kind: self.kind.clone(), because: AudienceMatch::Follows(author_ref(number)?) })
    }

    fn row(&self, number: usize) -> anyhow::Result<DayRow> {
        let (key, reason, subject) = (self.key(number), self.reason(number)?, work_ref(number)?);
        Ok(DayRow::Entry(Entry { key, reason, subject, actor: None, kept: model::KeptFields::new() }))
    }

    fn days(&self, person: &Person, rows: &[DayRow]) -> Vec<DayRows> {
        let mut days = BTreeMap::<_, Vec<DayRow>>::new();
        for (number, row) in rows.iter().enumerate() {
            days.entry(self.key(number).day()).or_default().push(row.clone());
        }
        let key = |day| DayKey { tenant: self.tenant.clone(), person: person.clone(), day };
        days.into_iter().map(|(day, rows)| DayRows { key: key(day), rows }).collect()
    }

    /// An address and a device of their own.
    fn profile(&self, number: usize) -> VersionedState {
        let PushDevice { id, platform, token } = (self.device)(number);
        let own: [(&str, Option<Value>); 3] = [
            (profile::NAME, Some(Value::from_text("Ann"))),
            (profile::EMAIL, Some(Value::from_text(&format!("ann-{number}@mail.example")))),
            (&device::device_field(&id), Some(device::device_value(platform, &token))),
        ];
        VersionedState::from_values(1, own)
    }
}

pub fn mail_catalogue() -> anyhow::Result<Catalogue> {
    let read = |name: &str| match name {
        "digest.mjml" => Ok(include_str!("../mail/digest.mjml").to_owned()),
        _ => Ok(include_str!("../mail/digest.txt").to_owned()),
    };
    Catalogue::parse(CATALOGUE, "bench.yaml", &read).map_err(|wrong| anyhow!("{wrong}"))
}

/// An iPhone.
pub fn iphone_device(number: usize) -> PushDevice {
    PushDevice { id: "phone".to_owned(), platform: DevicePlatform::Ios, token: format!("{number:064x}") }
}

fn author_ref(number: usize) -> anyhow::Result<SubjectRef> {
    Ok(SubjectRef::new(&format!("author:{number}"))?)
}

fn work_ref(number: usize) -> anyhow::Result<SubjectRef> {
    Ok(SubjectRef::new(&format!("work:{number}"))?)
}

fn work_state(number: usize) -> anyhow::Result<VersionedState> {
    let page = format!("https://press.example/work/{number}");
    Ok(VersionedState::from_values(
        1,
        [
            ("title", Some(Value::from_text(&format!("Harbour at night, no. {number}")))),
            ("medium", Some(Value::from_text("oil on canvas"))),
            ("image", Some(Value::from_text(&format!("{page}.jpg")))),
            ("page", Some(Value::from_text(&page))),
            ("author", Some(Value::Ref(author_ref(number)?))),
            ("published", Some(Value::Flag(true))),
        ],
    ))
}
