//! Additional results of methods with their plans.

/// A figure, text, list or record that a method gives with its plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word or a sentence.
    Text(String),
    /// Several of a kind.
    List(Vec<Detail>),
    /// Named parts.
    Record(Vec<(&'static str, Detail)>),
}
