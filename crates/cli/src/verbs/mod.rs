//! One file per verb.

mod activities;
mod advise;
mod algorithms;
mod burn;
mod calibrate;
mod centre;
mod choices;
mod clean;
mod compare;
mod completions;
mod convert;
mod detached;
mod diff;
mod examples;
mod explain;
mod generate;
mod import;
mod log;
mod man;
mod mpi_capture;
mod mpicc;
mod mpirun;
mod pilot;
pub(crate) mod plan;
mod platform;
mod replay;
mod report;
mod reproduce;
mod resume;
pub(crate) mod run;
mod show;
pub(crate) mod simulate;
mod status;
mod stop;
mod validate;
mod versus;
mod what_if;

use crate::output::Output;
use clap::Subcommand;
pub(crate) use run::view as run_view;
use slackline_core::Failure;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Verb {
    Plan(Box<plan::Plan>),
    Simulate(Box<simulate::Simulate>),
    Activities(activities::Activities),
    Run(Box<run::Run>),
    Resume(resume::Resume),
    Clean(clean::Clean),
    Status(status::Status),
    Log(log::Log),
    Report(report::Report),
    Stop(stop::Stop),
    Diff(diff::Diff),
    Replay(replay::Replay),
    Mpirun(mpirun::Mpirun),
    Mpicc(mpicc::Mpicc),
    MpiCapture(mpi_capture::MpiCapture),
    Compare(Box<compare::Compare>),
    Versus(Box<versus::Versus>),
    WhatIf(Box<what_if::WhatIf>),
    Calibrate(calibrate::Calibrate),
    Centre(centre::Centre),
    Import(import::Import),
    Explain(explain::Explain),
    Advise(advise::Advise),
    Reproduce(reproduce::Reproduce),
    Show(show::Show),
    Validate(validate::Validate),
    Convert(convert::Convert),
    Generate(generate::Generate),
    Algorithms(algorithms::Algorithms),
    Platform(platform::Platform),
    Examples(examples::Examples),
    Completions(completions::Completions),
    Burn(burn::Burn),
    Pilot(pilot::Pilot),
    Detached(detached::Detached),
    Man(man::Man),
}

impl Verb {
    /// Whether its options make a request.
    fn makes_request(&self) -> bool {
        match self {
            Verb::Plan(_) | Verb::Run(_) => true,
            Verb::Simulate(verb) => verb.makes_request(),
            _ => false,
        }
    }

    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        if output.print_request && !self.makes_request() {
            return Err(Failure::input("--print-request: no request is made here")
                .with_help("plan, simulate and run make requests"));
        }
        match self {
            Verb::Plan(verb) => verb.run(output),
            Verb::Simulate(verb) => verb.run(output),
            Verb::Activities(verb) => verb.run(output),
            Verb::Run(verb) => verb.run(output),
            Verb::Resume(verb) => verb.run(output),
            Verb::Clean(verb) => verb.run(output),
            Verb::Status(verb) => verb.run(output),
            Verb::Log(verb) => verb.run(output),
            Verb::Report(verb) => verb.run(output),
            Verb::Stop(verb) => verb.run(output),
            Verb::Diff(verb) => verb.run(output),
            Verb::Replay(verb) => verb.run(output),
            Verb::Mpirun(verb) => verb.run(output),
            Verb::Mpicc(verb) => verb.run(output),
            Verb::MpiCapture(verb) => verb.run(output),
            Verb::Compare(verb) => verb.run(output),
            Verb::Versus(verb) => verb.run(output),
            Verb::WhatIf(verb) => verb.run(output),
            Verb::Calibrate(verb) => verb.run(output),
            Verb::Centre(verb) => verb.run(output),
            Verb::Import(verb) => verb.run(output),
            Verb::Explain(verb) => verb.run(output),
            Verb::Advise(verb) => verb.run(output),
            Verb::Reproduce(verb) => verb.run(output),
            Verb::Show(verb) => verb.run(output),
            Verb::Validate(verb) => verb.run(output),
            Verb::Convert(verb) => verb.run(output),
            Verb::Generate(verb) => verb.run(output),
            Verb::Algorithms(verb) => verb.run(output),
            Verb::Platform(verb) => verb.run(output),
            Verb::Examples(verb) => verb.run(output),
            Verb::Completions(verb) => verb.run(output),
            Verb::Burn(verb) => verb.run(output),
            Verb::Pilot(verb) => verb.run(output),
            Verb::Detached(verb) => verb.run(output),
            Verb::Man(verb) => verb.run(output),
        }
    }
}
