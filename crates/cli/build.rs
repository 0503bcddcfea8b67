//! Tells the command which commit and target it is built from.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=SLACKLINE_COMMIT");
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo:rustc-env=SLACKLINE_TARGET={target}");
    println!("cargo:rustc-env=SLACKLINE_COMMIT={}", commit());
}

/// The commit that was named, or that of the checkout; development builds do not follow every
/// commit, which would compile the command again each time.
fn commit() -> String {
    if let Ok(named) = std::env::var("SLACKLINE_COMMIT") {
        return named;
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return "development build".to_string();
    }
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "commit unknown".to_string())
}
