//! Contents of files: workflows, platforms, documents.

pub mod definition;
pub mod document;
pub mod facts;
pub mod platform;
pub mod workflow;
