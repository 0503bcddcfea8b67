//! Tables of a case file with unique names, in the order of the file. (Maps of serde keep the last of equal names.)

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

/// Names with values, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UniqueMap<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for UniqueMap<T> {
    fn default() -> Self {
        UniqueMap(Vec::new())
    }
}

struct InOrder<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
    type Value = UniqueMap<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of names and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueMap<T>, A::Error> {
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, T>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("`{name}` is there twice")));
            }
            entries.push((name, value));
        }
        Ok(UniqueMap(entries))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for UniqueMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}
