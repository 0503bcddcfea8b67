//! Contents of files: workflows, platforms, documents.

pub mod definition;
pub mod document;
pub mod platform;
pub mod workflow;
