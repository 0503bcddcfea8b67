//! `slackline centre`: services of a computing centre, each on its own or stacked.

mod adopt;
mod attribute;
mod batch;
pub(super) mod recorded;
mod stack;
mod storage;
mod tape;

pub(super) use stack::simulate_on_stack;

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Subcommand};
use serde::{Serialize, Serializer};

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

/// A number that is written without a fraction where it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(pub(super) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Number(value) = *self;
        if value.fract() == 0.0 && value.abs() < 9e15 {
            serializer.serialize_i64(value as i64)
        } else {
            serializer.serialize_f64(value)
        }
    }
}
