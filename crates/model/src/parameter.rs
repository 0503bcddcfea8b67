//! Parameters of generators, planners and policies: what they are called, what they may be, which
//! values the published studies used. The command's help, the registries, the manifest of a
//! population and the tests read these.

use crate::nearest::nearest;
use crate::units::Quantity;
use thiserror::Error;

/// The reason why a value was not accepted.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum ParameterError {
    #[error("{owner} parameter '{name}'; {known}")]
    Unknown { owner: String, name: String, known: String },
    #[error("{name} = {value}: {why}")]
    BadValue { name: String, value: String, why: String },
}

type Result<T> = std::result::Result<T, ParameterError>;

/// A value that one parameter cannot take.
pub fn bad(name: &str, value: impl std::fmt::Display, why: impl Into<String>) -> ParameterError {
    ParameterError::BadValue { name: name.into(), value: value.to_string(), why: why.into() }
}

/// Names and values as given, in order; the last of a name counts.
pub type Given = Vec<(String, String)>;

fn unknown(owner: &str, name: &str, names: &[&str]) -> ParameterError {
    let known = match (nearest(name, names.iter().copied()), names) {
        (_, []) => "there is none to set".to_string(),
        (Some(near), _) if names.len() > 1 => {
            format!("did you mean '{near}'? there are: {}", names.join(", "))
        }
        _ => format!("there is: {}", names.join(", ")),
    };
    ParameterError::Unknown { owner: owner.into(), name: name.into(), known }
}

/// Fails where something given is a parameter of none of these methods: what one of several has
/// is not foreign to the others.
pub fn check_known<'a>(
    given: &[(String, String)],
    methods: impl Iterator<Item = (&'a str, &'a [Parameter])> + Clone,
) -> Result<()> {
    let mut names: Vec<&str> = methods.clone().flat_map(|(_, p)| p).map(|p| p.name).collect();
    names.sort_unstable();
    names.dedup();
    let Some((name, _)) = given.iter().find(|(name, _)| !names.contains(&name.as_str())) else {
        return Ok(());
    };
    let methods: Vec<&str> = methods.map(|(method, _)| method).collect();
    let owner = match methods.as_slice() {
        [one] => format!("'{one}' has no"),
        many if many.len() <= 5 => format!("none of {} has a", many.join(", ")),
        many => format!("none of these {} methods has a", many.len()),
    };
    Err(unknown(&owner, name, &names))
}

/// Returns the given parameters that a method has, in the order given.
pub fn own<'g>(
    given: &'g [(String, String)],
    parameters: &'g [Parameter],
) -> impl Iterator<Item = &'g (String, String)> {
    given.iter().filter(|(name, _)| parameters.iter().any(|p| p.name == name))
}

/// The type and range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number between two bounds.
    Count(u64, u64),
    /// A number between two bounds.
    Number(f64, f64),
    /// A number with a unit, e.g. `125MBps`; a bare number counts in base units.
    Quantity(Quantity),
    /// A time between two bounds, in seconds; a unit may follow.
    Seconds(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `yes` or `no`.
    Switch,
    /// Any text.
    Text,
}

/// One parameter of a generator, planner or policy.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// As on the command line, without dashes.
    pub name: &'static str,
    /// Description, one sentence.
    pub about: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// The value when none is given; `auto` lets the method choose.
    pub default: &'static str,
    /// The values the published studies used, empty when there are none.
    pub published: &'static str,
}

impl Parameter {
    /// A parameter without published values.
    pub const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        about: &'static str,
    ) -> Parameter {
        Parameter { name, about, kind, default, published: "" }
    }

    /// The same parameter with the values of published studies.
    pub const fn published(mut self, published: &'static str) -> Parameter {
        self.published = published;
        self
    }

    /// The values it may take, for help.
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Count(low, u64::MAX) => format!("whole number >= {low}"),
            Kind::Count(low, high) => format!("whole number {low} to {high}"),
            Kind::Number(f64::NEG_INFINITY, f64::INFINITY) => "number".into(),
            Kind::Number(low, f64::INFINITY) => format!("number >= {low}"),
            Kind::Number(low, high) => format!("number {low} to {high}"),
            Kind::Quantity(quantity) => format!("{quantity} with unit"),
            Kind::Seconds(low, f64::INFINITY) => format!("time >= {low} s"),
            Kind::Seconds(low, high) => format!("time {low} to {high} s"),
            Kind::Choice(words) => words.join(" | "),
            Kind::Switch => "yes | no".into(),
            Kind::Text => "text".into(),
        }
    }

    /// Reads a value; `None` for `auto`, which only a parameter of that default takes.
    fn parse(&self, text: &str) -> Result<Option<Value>> {
        let text = text.trim();
        if text == "auto" && self.default == "auto" {
            return Ok(None);
        }
        let wrong = || bad(self.name, text, format!("give a {}", self.range()));
        let value = match self.kind {
            Kind::Count(low, high) => {
                let count = text.parse::<u64>().map_err(|_| wrong())?;
                if !(low..=high).contains(&count) {
                    return Err(wrong());
                }
                Value::Count(count)
            }
            Kind::Number(low, high) => Value::Number(number(text, low, high).ok_or_else(wrong)?),
            Kind::Quantity(quantity) => match quantity.parse_or_bare(text) {
                Ok(value) => Value::Number(value),
                Err(error) => return Err(bad(self.name, text, error.to_string())),
            },
            Kind::Seconds(low, high) => {
                let seconds = Quantity::Duration.parse_or_bare(text);
                let seconds = seconds.map_err(|e| bad(self.name, text, e.to_string()))?;
                if !(low..=high).contains(&seconds) {
                    return Err(wrong());
                }
                Value::Number(seconds)
            }
            Kind::Choice(words) => {
                let word = words.iter().find(|w| **w == text).ok_or_else(|| {
                    bad(self.name, text, format!("choose one of {}", self.range()))
                })?;
                Value::Word(word.to_string())
            }
            Kind::Switch => match text {
                "yes" | "true" => Value::Switch(true),
                "no" | "false" => Value::Switch(false),
                _ => return Err(bad(self.name, text, "give yes or no")),
            },
            Kind::Text => Value::Word(text.to_string()),
        };
        Ok(Some(value))
    }
}

fn number(text: &str, low: f64, high: f64) -> Option<f64> {
    let number = text.parse::<f64>().ok()?;
    (number.is_finite() && (low..=high).contains(&number)).then_some(number)
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Count(u64),
    Number(f64),
    Word(String),
    Switch(bool),
}

/// The parameters of a method with their values: what was given, else the defaults.
#[derive(Clone, Debug)]
pub struct Values {
    owner: &'static str,
    values: Vec<(&'static Parameter, String, Option<Value>)>,
}

impl Values {
    /// Checks what was given against the parameters of a method. `defaults` replace those of
    /// the parameters, as a method may differ from its neighbours.
    pub fn read(
        owner: &'static str,
        parameters: impl Iterator<Item = &'static Parameter>,
        defaults: &[(&'static str, &'static str)],
        given: &[(String, String)],
    ) -> Result<Values> {
        let mut values = Vec::new();
        for parameter in parameters {
            let own = defaults.iter().find(|(name, _)| *name == parameter.name);
            let default = own.map_or(parameter.default, |(_, value)| value);
            let mut text = default.to_string();
            // The last word counts, as on a command line.
            for (_, value) in given.iter().filter(|(name, _)| name == parameter.name) {
                text.clone_from(value);
            }
            let value = parameter.parse(&text)?;
            values.push((parameter, text, value));
        }
        let known = |name: &str| values.iter().any(|(parameter, ..)| parameter.name == name);
        if let Some((name, _)) = given.iter().find(|(name, _)| !known(name)) {
            let names: Vec<&str> = values.iter().map(|(p, ..)| p.name).collect();
            return Err(unknown(&format!("'{owner}' has no"), name, &names));
        }
        Ok(Values { owner, values })
    }

    /// Name and value of every parameter, in the order of the registry.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(parameter, text, _)| (parameter.name, text.as_str()))
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(p, ..)| p.name == name).and_then(|(_, _, value)| value.as_ref())
    }

    fn missing(&self, name: &str) -> ParameterError {
        bad(name, "nothing", format!("'{}' needs it", self.owner))
    }

    /// A whole number.
    pub fn count(&self, name: &str) -> Result<usize> {
        self.maybe_count(name).ok_or_else(|| self.missing(name))
    }

    /// A whole number, `None` for `auto`.
    pub fn maybe_count(&self, name: &str) -> Option<usize> {
        match self.value(name) {
            Some(&Value::Count(count)) => usize::try_from(count).ok(),
            _ => None,
        }
    }

    /// A number, in base units where it has any.
    pub fn number(&self, name: &str) -> Result<f64> {
        self.maybe_number(name).ok_or_else(|| self.missing(name))
    }

    /// A number, `None` for `auto`.
    pub fn maybe_number(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Some(&Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// A word; empty for `auto`.
    pub fn word(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    /// Yes or no.
    pub fn switch(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Switch(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Parameter; 5] = [
        Parameter::new("wait", Kind::Seconds(0.0, 60.0), "30", "how long"),
        Parameter::new("tasks", Kind::Count(1, 10), "5", "how many"),
        Parameter::new("fat", Kind::Number(0.0, 1.0), "auto", "how fat"),
        Parameter::new("bandwidth", Kind::Quantity(Quantity::Bandwidth), "1GBps", "how fast"),
        Parameter::new("shape", Kind::Choice(&["a", "b"]), "a", "which"),
    ];

    fn read(given: &[(&str, &str)]) -> Result<Values> {
        let given: Vec<_> = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Values::read("test", ALL.iter(), &[("shape", "b")], &given)
    }

    #[test]
    fn defaults_are_overridden_in_turn() {
        let s = read(&[("bandwidth", "10Mbps"), ("tasks", "3"), ("tasks", "4")]).unwrap();
        assert_eq!(s.count("tasks").unwrap(), 4);
        assert_eq!(s.number("bandwidth").unwrap(), 1.25e6);
        assert_eq!((s.word("shape"), s.maybe_number("fat")), ("b", None));
        assert!(s.number("fat").is_err() && s.count("typo").is_err());
        assert_eq!(s.number("wait").unwrap(), 30.0);
        assert_eq!(read(&[("wait", "0.5min")]).unwrap().number("wait").unwrap(), 30.0);
    }

    #[test]
    fn one_of_several_methods_suffices() {
        let methods = || [("a", &ALL[..1]), ("b", &ALL[1..])].into_iter();
        let given = |name: &str| vec![(name.to_string(), "1".to_string())];
        assert_eq!(check_known(&given("wait"), methods()), Ok(()));
        assert_eq!(check_known(&given("tasks"), methods()), Ok(()));
        let error = check_known(&given("task"), methods()).unwrap_err().to_string();
        assert!(error.starts_with("none of a, b has a parameter 'task'; did you mean 'tasks'?"));
        let error = check_known(&given("tasks"), methods().take(1)).unwrap_err().to_string();
        assert_eq!(error, "'a' has no parameter 'tasks'; there is: wait");
        assert_eq!(own(&given("tasks"), &ALL[..1]).count(), 0);
    }

    #[test]
    fn what_a_parameter_cannot_be_is_said() {
        let text = |given| read(&[given]).unwrap_err().to_string();
        assert_eq!(text(("tasks", "11")), "tasks = 11: give a whole number 1 to 10");
        assert_eq!(text(("fat", "nan")), "fat = nan: give a number 0 to 1");
        assert_eq!(text(("shape", "c")), "shape = c: choose one of a | b");
        assert!(
            text(("fatt", "1")).contains("'test' has no parameter 'fatt'; did you mean 'fat'?")
        );
        assert_eq!(
            text(("wait", "-1")),
            "wait = -1: \"-1\" is no duration: it must be a finite number of at least 0"
        );
        assert_eq!(text(("wait", "2min")), "wait = 2min: give a time 0 to 60 s");
        assert!(text(("bandwidth", "10MB")).contains("MBps"));
    }
}
