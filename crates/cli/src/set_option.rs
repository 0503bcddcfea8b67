//! Parameters that methods are given (`--set`).

use clap::Args;
use slackline_core::request::Pairs;

/// Parameters of the chosen methods.
#[derive(Args, Clone, Debug)]
pub(crate) struct SetOptions {
    /// Set a parameter of the chosen methods; `slackline algorithms` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
}

pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("expected NAME=VALUE".to_string()),
    }
}

impl SetOptions {
    /// The same as part of a request.
    pub(crate) fn request(&self) -> Pairs {
        Pairs(self.set.clone())
    }
}
