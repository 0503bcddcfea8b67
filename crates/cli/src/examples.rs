//! The files of the repository's `examples` folder, carried inside the command.

use std::path::Path;

/// The platform to plan on where none is named.
pub(crate) const SMALL_CLUSTER: &str =
    include_str!("../../../examples/platforms/small-cluster.toml");

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// Name inside the folder and text of every file.
        pub(crate) const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../examples/", $name)))),+];
    };
}

files![
    "platforms/four-sites.toml",
    "platforms/priced-cloud.toml",
    "platforms/small-cluster.toml",
    "platforms/two-site-grid.toml",
    "workflows/epigenomics.dax",
    "workflows/fork-join.toml",
    "workflows/gauss.dot",
    "workflows/heft-2002.json",
    "workflows/montage.json",
    "workflows/peft-2014.json",
    "workflows/stg-random.stg",
];

/// The names of the bundled platforms.
pub(crate) fn platform_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(file, _)| file.strip_prefix("platforms/")?.strip_suffix(".toml"))
}

/// The text of a bundled platform that is called by its name, where no file is.
pub(crate) fn platform_named(path: &Path) -> Option<&'static str> {
    let file = format!("platforms/{}.toml", path.to_str()?);
    let (_, text) = FILES.iter().find(|(name, _)| *name == file)?;
    (!path.exists()).then_some(*text)
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_carried() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
        let mut found = Vec::new();
        for folder in ["platforms", "workflows"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let name = entry.unwrap().file_name();
                found.push(format!("{folder}/{}", name.to_string_lossy()));
            }
        }
        found.sort();
        let carried: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, carried);
    }
}
