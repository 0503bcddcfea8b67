//! Services of a computing centre.

pub mod adopt;
pub mod attribute;
pub mod batch;
pub mod stack;
pub mod storage;
pub mod tape;

use serde::{Serialize, Serializer};

/// A number that is written without a fraction where it has none.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

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
