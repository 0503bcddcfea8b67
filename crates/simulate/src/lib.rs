//! The fluid simulation kernel.
