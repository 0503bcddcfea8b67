//! The files of the repository's `examples` folder, carried inside the library.

use std::path::Path;

/// The platform to plan on where none is named.
pub const SMALL_CLUSTER: &str = include_str!("../../../examples/platforms/small-cluster.toml");

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// Name inside the folder and text of every file.
        pub const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../examples/", $name)))),+];
    };
}

files![
    "centre/pilot-stack.json",
    "centre/tape-hierarchy.json",
    "platforms/four-sites.toml",
    "platforms/gpu-cluster.toml",
    "platforms/priced-cloud.toml",
    "platforms/small-cluster.toml",
    "platforms/two-site-grid.toml",
    "scenarios/slow-day.toml",
    "workflows/assembly.toml",
    "workflows/epigenomics.dax",
    "workflows/fork-join.toml",
    "workflows/gauss.dot",
    "workflows/gpu-training.toml",
    "workflows/heft-2002.json",
    "workflows/montage.json",
    "workflows/peft-2014.json",
    "workflows/samples.toml",
    "workflows/stg-random.stg",
];

/// The names of the files in a folder, by which they can be called where no file is.
pub fn names(folder: &'static str) -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(move |(file, _)| stem(file.strip_prefix(folder)?.strip_prefix('/')?))
}

fn stem(file: &str) -> Option<&str> {
    file.rsplit_once('.').map(|(stem, _)| stem)
}

/// Returns the text of the bundled file with this name, without folder and extension.
pub fn named(path: &Path) -> Option<&'static str> {
    let name = path.to_str()?;
    let is = |file: &str| file.split_once('/').and_then(|(_, file)| stem(file)) == Some(name);
    FILES.iter().find(|(file, _)| is(file)).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::path::Path;

    #[test]
    fn every_file_of_the_folder_is_carried() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
        let mut found = Vec::new();
        for folder in ["centre", "platforms", "scenarios", "workflows"] {
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
