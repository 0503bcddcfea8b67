//! `slackline centre`: services of a computing centre, each on its own or stacked.

mod adopt;
mod attribute;
mod batch;
mod stack;
mod storage;
mod tape;

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Subcommand};
pub(super) use stack::simulate_on_stack;

/// Simulate services of a computing centre
#[derive(Args)]
pub(crate) struct Centre {
    #[command(subcommand)]
    service: Service,
}

#[derive(Subcommand)]
enum Service {
    Adopt(adopt::Adopt),
    Attribute(attribute::Attribute),
    Batch(batch::Batch),
    Stack(stack::Stack),
    Storage(storage::Storage),
    Tape(tape::Tape),
}

impl Centre {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.service {
            Service::Adopt(service) => service.run(output),
            Service::Attribute(service) => service.run(output),
            Service::Batch(service) => service.run(output),
            Service::Stack(service) => service.run(output),
            Service::Storage(service) => service.run(output),
            Service::Tape(service) => service.run(output),
        }
    }
}
