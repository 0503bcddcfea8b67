//! Surroundings of a task other than its inputs.

use std::collections::BTreeMap;

/// Environment of a task in real runs, and rules for its attempts; planners ignore both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// The container that it runs in.
    pub container: Option<Container>,
    /// The conda environment that is activated: a name, or a path, which has a `/`.
    pub conda: Option<String>,
    /// Environment modules that are loaded, in order.
    pub modules: Vec<String>,
    /// Seconds after which an attempt is ended.
    pub time_limit: Option<f64>,
    /// Maximum retries after a failure.
    pub retries: Option<u32>,
    /// Outputs that are deleted after their last reader.
    pub temp: Vec<String>,
    /// Nodes of a cluster that it takes, with its cores on each of them; one where it is left out.
    pub nodes: Option<u32>,
}

/// A container image and what runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// The image: a file, or a name that the engine knows.
    pub image: String,
    /// Engine: `apptainer`, `singularity`, `podman` or `docker`; none for the first that a host has.
    pub engine: Option<String>,
}

impl Container {
    /// Names of the supported container engines, in order of preference.
    pub const ENGINES: [&str; 4] = ["apptainer", "singularity", "podman", "docker"];

    /// Whether the image is a file, by its name.
    pub fn is_file(&self) -> bool {
        let ends = [".sif", ".simg", ".img", ".sqsh"].iter().any(|end| self.image.ends_with(end));
        !self.image.contains("://") && (ends || self.image.starts_with(['/', '.']))
    }
}

impl Surroundings {
    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Surroundings::default()
    }

    /// The number of nodes that it takes.
    pub fn nodes(&self) -> u32 {
        self.nodes.unwrap_or(1).max(1)
    }

    /// The words that make an environment the same as another one; none where nothing is declared.
    pub fn declared(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (name, value) in &self.env {
            words.extend(["env".to_string(), name.clone(), value.clone()]);
        }
        if let Some(Container { image, engine }) = &self.container {
            words.extend(["container".to_string(), image.clone()]);
            words.push(engine.clone().unwrap_or_default());
        }
        words.extend(self.conda.iter().flat_map(|name| ["conda".to_string(), name.clone()]));
        words.extend(self.modules.iter().flat_map(|name| ["module".to_string(), name.clone()]));
        words
    }
}
