//! Runs in a process of their own, which outlives the terminal.

use crate::output::Output;
use rustix::process::setsid;
use slackline_core::Failure;
use slackline_core::request::RunRequest;
use slackline_core::run::{DETACHED_LOG, DrivingProcess};
use slackline_core::run::{folder_of, log_of};
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time between two looks at a process that has not begun its run yet.
const PAUSE: Duration = Duration::from_millis(20);

/// Begins a run in another process, and returns once it drives the run.
pub(super) fn begin(
    request: RunRequest,
    notify: Option<&str>,
    output: &mut Output,
) -> Result<(), Failure> {
    let folder = folder_of(&request);
    // What is wrong with the request is said here.
    let quiet = std::mem::replace(&mut output.quiet, true);
    let read = request.clone().read(&mut output.context(false));
    output.quiet = quiet;
    read?;
    let request = RunRequest { folder: Some(folder.clone()), ..request };
    let is_new = DirBuilder::new().mode(0o700).recursive(true).create(&folder).is_ok()
        && !log_of(&folder).exists();
    let path = folder.join(DETACHED_LOG);
    let mut child = start(&request, &path, notify, output.files.is_outside_allowed())?;
    loop {
        let is_driving = |driver: DrivingProcess| driver.pid == child.id();
        if log_of(&folder).is_file() && DrivingProcess::of(&folder).is_some_and(is_driving) {
            break;
        }
        if let Some(status) = child.try_wait()? {
            return ended(status.code(), is_new, &folder, &path, output);
        }
        std::thread::sleep(PAUSE);
    }
    let shown = folder.display();
    output.say(&format!(
        "Process {} drives the run in {shown}; its messages go to {}\n\n  slackline status {shown}\n  slackline stop {shown}\n",
        child.id(),
        path.display()
    ))
}

/// The run was over, or refused, before anybody could look at it.
fn ended(
    code: Option<i32>,
    is_new: bool,
    folder: &Path,
    log: &Path,
    output: &mut Output,
) -> Result<(), Failure> {
    let said = std::fs::read_to_string(log).unwrap_or_default();
    if log_of(folder).is_file() {
        return match code {
            Some(0) => output.say(&format!("{}: the run is over\n{said}", folder.display())),
            _ => {
                Err(Failure::work(format!("{}: the run ended: {}", folder.display(), said.trim())))
            }
        };
    }
    if is_new {
        let _ = std::fs::remove_file(log);
        let _ = std::fs::remove_dir(folder); // only where nothing else is in it
    }
    let said = said.trim().trim_start_matches("error: ").to_string();
    Err(if code == Some(2) { Failure::input(said) } else { Failure::work(said) })
}

fn start(
    request: &RunRequest,
    log: &Path,
    notify: Option<&str>,
    allow_outside: bool,
) -> Result<Child, Failure> {
    let file = File::options().create(true).append(true).mode(0o600).open(log)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("detached");
    if allow_outside {
        command.arg("--allow-outside");
    }
    if let Some(line) = notify {
        command.arg("--notify").arg(line);
    }
    command.stdin(Stdio::piped()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(serde_json::to_string(request)?.as_bytes())?;
    }
    Ok(child)
}

/// Makes this process independent of the terminal that started it.
pub(in crate::verbs) fn leave_terminal() -> Result<(), Failure> {
    setsid().map(drop).map_err(|error| Failure::work(std::io::Error::from(error)))
}
