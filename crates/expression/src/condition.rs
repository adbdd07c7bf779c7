//! Conditions: whether a kind still holds for a subject as it is now.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use minijinja::{Environment, ErrorKind, Value as Scripted};
use model::{SubjectRef, Value, VersionedState, time::AskedMoment};

use crate::{
    check::TextReads,
    scope::{DUE, NOW},
    words::bounded_environment,
};

/// A compiled condition.
#[derive(Clone)]
pub struct KindCondition {
    /// As it is written.
    pub text: String,
    env: Arc<Environment<'static>>,
    reads: Arc<TextReads>,
}

/// The facts on which a condition is evaluated.
#[derive(Clone, Copy)]
pub struct ConditionFacts<'a> {
    pub subject: &'a SubjectRef,
    pub state: &'a VersionedState,
    /// The subjects it refers to, as far as they are known.
    pub related: &'a dyn Fn(&SubjectRef) -> Option<&'a VersionedState>,
    pub moment: AskedMoment,
}

const TEMPLATE: &str = "condition";

impl KindCondition {
    /// Compiles a condition that has been checked.
    pub fn compile(text: &str, reads: TextReads) -> Result<Self, String> {
        let mut env = bounded_environment();
        // An expression of minijinja borrows its environment and a template does not, so the condition is
        // compiled as a text that is empty when it does not hold.
        let template = format!("{{% if ({text}\n) %}}1{{% endif %}}");
        env.add_template_owned(TEMPLATE, template).map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_string(), env: Arc::new(env), reads: Arc::new(reads) })
    }

    /// Whether it holds. A subject of which nothing is known does not, and neither does a comparison with
    /// a field that is not there.
    pub fn holds(&self, facts: &ConditionFacts<'_>) -> Result<bool, String> {
        if facts.state.cells.values().all(|cell| cell.value.is_none()) {
            return Ok(false);
        }
        let template = self.env.get_template(TEMPLATE).map_err(|error| error.to_string())?;
        match template.render(self.values(facts)) {
            Ok(text) => Ok(!text.is_empty()),
            Err(error) if error.kind() == ErrorKind::UndefinedError => Ok(false),
            Err(error) => Err(format!("condition `{}`: {error}", self.text)),
        }
    }

    /// The fields of a type of subject that it reads.
    pub fn fields(&self, of: &str) -> Vec<String> {
        self.reads.fields.get(of).into_iter().flatten().cloned().collect()
    }

    /// The subjects that it reads of one of this type in this state.
    pub fn references(&self, of: &str, state: &VersionedState) -> Vec<SubjectRef> {
        let fields = self.reads.fields.get(of).into_iter().flatten();
        let names: BTreeSet<&String> = self.reads.roots.iter().chain(fields).collect();
        let values = names.into_iter().filter_map(|name| state.get(name));
        values.flat_map(|value| value.refs().iter().cloned()).collect()
    }

    /// The fields that the condition reads, and no others.
    fn values(&self, facts: &ConditionFacts<'_>) -> Scripted {
        let mut roots = BTreeMap::new();
        let subject = self.subject(facts.subject, facts.state, Some(facts));
        for root in self.reads.roots.iter().filter(|root| *root != "subject") {
            let value = match root.as_str() {
                NOW => Some(Scripted::from(facts.moment.now.0)),
                DUE => Some(Scripted::from(facts.moment.due.0)),
                field => facts.state.get(field).map(|value| self.value(value, Some(facts))),
            };
            roots.insert(root.as_str(), value.unwrap_or(Scripted::UNDEFINED));
        }
        roots.insert("subject", subject);
        Scripted::from(roots)
    }

    /// `facts` for the subject itself, none for what it refers to: conditions read one reference deep.
    fn subject(
        &self,
        subject: &SubjectRef,
        state: &VersionedState,
        facts: Option<&ConditionFacts<'_>>,
    ) -> Scripted {
        let mut fields = BTreeMap::from([("id", Scripted::from(subject.id()))]);
        for field in self.reads.fields.get(subject.kind()).into_iter().flatten() {
            if let Some(value) = state.get(field) {
                fields.insert(field, self.value(value, facts));
            }
        }
        Scripted::from(fields)
    }

    fn value(&self, value: &Value, facts: Option<&ConditionFacts<'_>>) -> Scripted {
        match value {
            Value::Text(text) => Scripted::from(text.as_ref()),
            Value::Number(number) => Scripted::from(*number),
            Value::Flag(flag) => Scripted::from(*flag),
            Value::Time(at) => Scripted::from(at.0),
            Value::Ref(one) => self.reference(one, facts),
            Value::Refs(many) => many.iter().map(|one| self.reference(one, facts)).collect(),
            Value::Place(place) => Scripted::from(BTreeMap::from([("lat", place.lat), ("lon", place.lon)])),
        }
    }

    fn reference(&self, to: &SubjectRef, facts: Option<&ConditionFacts<'_>>) -> Scripted {
        let unknown = VersionedState::default();
        let state = facts.and_then(|facts| (facts.related)(to)).unwrap_or(&unknown);
        self.subject(to, state, None)
    }
}

impl PartialEq for KindCondition {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.reads == other.reads
    }
}

impl fmt::Debug for KindCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KindCondition({:?})", self.text)
    }
}
