//! Comparisons of methods: words, tables, and a page of its own.

pub mod campaign;
pub mod html;
pub mod regression;
pub mod text;
