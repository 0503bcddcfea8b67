//! `slackline compare OLD NEW --no-regression`.

use super::{Compare, Require, read, share};
use crate::failure::Failure;
use crate::output::Output;
use slackline_analysis::statistics::Sense;
use slackline_lab::compare::{Family, Limits, Verdict, no_regression};
use slackline_report::compare::regression::tell;
use std::collections::HashMap;

impl Compare {
    pub(super) fn regression(&self, output: &mut Output) -> Result<(), Failure> {
        let [old, new] = self.files.as_slice() else {
            let message = "--no-regression compares two files: the old results and the new ones";
            return Err(Failure::input(message));
        };
        for (option, given) in [
            ("--by", !self.by.is_empty()),
            ("--against", self.against.is_some()),
            ("--unit", !self.unit.is_empty()),
        ] {
            if given {
                return Err(Failure::input(format!("{option} does not apply to --no-regression")));
            }
        }
        let family = Family {
            metrics: self.metric.clone(),
            method: self.method.clone(),
            ignore: self.ignore.clone(),
            better: self.better.map(Sense::from),
            limits: self.limits()?,
        };
        let (before, after) = (read(old, output)?, read(new, output)?);
        let found = no_regression(&before, &after, &family).map_err(|e| e.in_file(new))?;
        if self.json {
            output.json(&found)?;
        } else {
            tell(&found, output)?;
        }
        let required = self.require == Some(Require::Held);
        match found.verdict {
            Verdict::Loss => Err(Failure::work("the new results are worse than the old ones")),
            Verdict::Open if required => {
                Err(Failure::work("the runs do not show that nothing became worse")
                    .with_help("more runs make the intervals narrower"))
            }
            _ => Ok(()),
        }
    }

    fn limits(&self) -> Result<HashMap<String, Limits>, Failure> {
        let mut limits: HashMap<String, Limits> = HashMap::new();
        let given = self.tolerance.iter().map(|text| ("--tolerance", text));
        for (option, text) in given.chain(self.gain.iter().map(|text| ("--gain", text))) {
            let wrong = |why: &str| {
                Failure::input(format!("{option} {text}: {why}"))
                    .with_help("write for example cost=2%")
            };
            let (name, value) = text.split_once('=').ok_or_else(|| wrong("no metric is named"))?;
            let value = share(value).map_err(|why| wrong(&why))?;
            let limit = limits.entry(name.trim().to_string()).or_default();
            let place = if option == "--gain" { &mut limit.gain } else { &mut limit.tolerance };
            *place = value;
        }
        Ok(limits)
    }
}
