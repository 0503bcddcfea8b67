//! Surroundings of tasks: the software environment of a command, that is its container, conda environment and modules.
//! They become a command line for the host; [`missing`] checks which of them this machine lacks.

use serde::{Deserialize, Serialize};
use slackline_model::Workflow;
use slackline_model::workflow::{Container, Surroundings};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Exit code of an attempt whose surroundings could not be set up; that of `docker run` for its own failures.
const NOT_SET_UP: u32 = 125;

/// Finds the function `module` of either implementation.
const FIND_MODULES: &str = r#"if ! command -v module >/dev/null 2>&1; then
for f in "$LMOD_PKG/init/sh" "$MODULESHOME/init/sh" /etc/profile.d/modules.sh /etc/profile.d/lmod.sh \
/usr/share/modules/init/sh /usr/share/lmod/lmod/init/sh; do
if [ -r "$f" ]; then . "$f"; break; fi; done; fi
command -v module >/dev/null 2>&1 || { echo "no environment modules on this host" >&2; exit 125; }
"#;

/// Activates the conda environment in `$p`, as `conda activate` would.
const ACTIVATE: &str = r#"CONDA_PREFIX=$p; CONDA_DEFAULT_ENV=${p##*/}; PATH=$p/bin:$PATH
export CONDA_PREFIX CONDA_DEFAULT_ENV PATH
for f in "$p"/etc/conda/activate.d/*.sh; do if [ -r "$f" ]; then . "$f"; fi; done
"#;

/// A text quoted for the shell.
fn quoted(text: &str) -> String {
    slackline_model::workflow::Command::shell_word(text)
}

/// Shell commands that find a conda environment by name and set `$p` to its folder.
fn places(name: &str) -> String {
    let name = quoted(name);
    format!(
        "IFS=:; for d in $CONDA_ENVS_PATH $CONDA_ENVS_DIRS; do [ -n \"$p\" ] || [ ! -d \"$d\"/{name} ] || p=$d/{name}; done; unset IFS\n\
         for d in \"$CONDA_ROOT\" \"$MAMBA_ROOT_PREFIX\" \"${{CONDA_EXE%/bin/conda}}\" ~/.conda ~/miniforge3 ~/mambaforge \
         ~/miniconda3 ~/anaconda3 ~/micromamba /opt/conda; do [ -n \"$p\" ] || [ ! -d \"$d\"/envs/{name} ] || p=$d/envs/{name}; done\n"
    )
}

/// A path of a workflow file: `~/` is the home directory, relative paths begin in the folder of the workflow (`home`).
fn path_of(name: &str, home: &Path) -> PathBuf {
    match name.strip_prefix("~/").zip(std::env::var_os("HOME")) {
        Some((rest, home)) => Path::new(&home).join(rest),
        None => home.join(name),
    }
}

/// The shell commands that set up modules and conda environment.
fn script(around: &Surroundings, home: &Path) -> String {
    let mut script = String::new();
    if !around.modules.is_empty() {
        script += FIND_MODULES;
        for module in &around.modules {
            script += &format!("module load {} || exit {NOT_SET_UP}\n", quoted(module));
        }
    }
    if let Some(conda) = &around.conda {
        script += "p=\n";
        if conda.contains('/') {
            script += &format!("p={}\n", quoted(&path_of(conda, home).to_string_lossy()));
        } else {
            script += &places(conda);
        }
        script += &format!(
            "[ -n \"$p\" ] && [ -d \"$p/bin\" ] || {{ echo {} >&2; exit {NOT_SET_UP}; }}\n",
            quoted(&format!("no conda environment {conda} on this host"))
        );
        script += ACTIVATE;
    }
    script
}

/// Shell commands that run `"$@"` in a container, with the folder of the attempt mounted.
fn container(container: &Container, around: &Surroundings, home: &Path) -> String {
    let image = if container.is_file() {
        path_of(&container.image, home).to_string_lossy().into_owned()
    } else {
        container.image.clone()
    };
    let engine = match &container.engine {
        Some(engine) => format!("e={}\n", quoted(engine)),
        None => {
            let engines = if container.is_file() {
                "apptainer singularity"
            } else {
                "apptainer singularity podman docker"
            };
            format!(
                "for e in {engines}; do if command -v $e >/dev/null 2>&1; then break; fi; done\n"
            )
        }
    };
    // Docker and Podman do not pass on the environment.
    let mut passed = String::new();
    for name in around.env.keys() {
        passed += &format!(" -e {}", quoted(name));
    }
    let (image, registry) = (quoted(&image), quoted(&format!("docker://{}", container.image)));
    let of_apptainer =
        if container.is_file() || container.image.contains("://") { &image } else { &registry };
    format!(
        "{engine}case $e in\n\
         podman|docker) v=; for n in $(env | sed -n 's/^\\(SLACKLINE_[A-Z]*\\)=.*/\\1/p'); do v=\"$v -e $n\"; done\n\
         exec $e run --rm -v \"$PWD:$PWD\" -w \"$PWD\" $v -e OMP_NUM_THREADS{passed} {image} \"$@\";;\n\
         *) exec $e exec --bind \"$PWD\" --pwd \"$PWD\" {of_apptainer} \"$@\";;\nesac\n"
    )
}

/// The command line of a task within its surroundings. `home` is the folder of the workflow.
pub fn surrounded(around: &Surroundings, home: &Path, argv: Vec<String>) -> Vec<String> {
    let mut script = script(around, home);
    match &around.container {
        Some(container) => script += &self::container(container, around, home),
        None if script.is_empty() => return argv,
        None => script += "exec \"$@\"\n",
    }
    let mut words = ["/bin/sh", "-c", &script, "slackline"].map(str::to_string).to_vec();
    words.extend(argv);
    words
}

/// Whether a program is found on this machine.
fn has_program(name: &str) -> bool {
    if name.contains('/') {
        return Path::new(name).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Runs a shell script on this machine; an error is the last line of its standard error.
fn run_shell(script: &str) -> Result<(), String> {
    let done = std::process::Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(std::process::Stdio::null())
        .output();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            let line = said.lines().rev().find(|line| !line.trim().is_empty());
            Err(line.unwrap_or("it cannot be set up").trim().to_string())
        }
        Err(error) => Err(format!("/bin/sh: {error}")),
    }
}

/// The engine or image that this machine lacks for a container.
fn lacks_container(container: &Container, home: &Path) -> Option<String> {
    let mut engines: Vec<&str> = match &container.engine {
        Some(engine) => vec![engine],
        None => Container::ENGINES.to_vec(),
    };
    if container.engine.is_none() && container.is_file() {
        engines.truncate(2);
    }
    if !engines.iter().any(|engine| has_program(engine)) {
        return Some(format!("no {} to run container {}", engines.join(" or "), container.image));
    }
    let path = path_of(&container.image, home);
    // An image may be a folder, too.
    (container.is_file() && !path.exists()).then(|| format!("no image {}", path.display()))
}

/// Requirement of tasks that a machine meets or not: containers, environments and modules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// The first task with it.
    task: String,
    /// The image of a container, and its engine where one is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<(String, Option<String>)>,
    /// The shell commands that set up modules and conda environment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    script: String,
    /// The folder of the workflow.
    home: PathBuf,
}

impl Need {
    /// The part that this machine lacks.
    fn lacks(&self) -> Option<String> {
        let image = self.image.clone();
        let container = image.map(|(image, engine)| Container { image, engine });
        container.and_then(|container| lacks_container(&container, &self.home)).or_else(|| {
            match self.script.as_str() {
                "" => None,
                script => run_shell(script).err(),
            }
        })
    }
}

/// Requirements of the tasks of a workflow, each once.
pub fn needs(workflow: &Workflow, home: &Path) -> Vec<Need> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut needs = Vec::new();
    for task in workflow.tasks() {
        let Some(command) = workflow.command(task) else { continue };
        let Some(around) = command.surroundings.as_deref() else { continue };
        let script = script(around, home);
        let wants = around.container.is_some() || !script.is_empty();
        if known.insert(around.declared().join("\0")) && wants {
            let image =
                around.container.clone().map(|container| (container.image, container.engine));
            let home = home.to_path_buf();
            let task = workflow.task_name(task).to_string();
            needs.push(Need { task, image, script, home });
        }
    }
    needs
}

/// Requirements that this machine does not meet: the first task with each, and a description.
pub fn lacks(needs: &[Need]) -> Vec<(String, String)> {
    needs.iter().filter_map(|need| Some((need.task.clone(), need.lacks()?))).collect()
}

/// Lists requirements of tasks that this machine does not meet: the first task with each, and a description.
pub fn missing(workflow: &Workflow, home: &Path) -> Vec<(String, String)> {
    lacks(&needs(workflow, home))
}

/// Lists images and conda environments below the folder of the workflow that do not exist. The hosts of a cluster share
/// that folder, so that this machine can check it for them.
pub fn missing_beside(workflow: &Workflow, home: &Path) -> Vec<(String, String)> {
    let mut missing = Vec::new();
    for task in workflow.tasks() {
        let around = workflow.command(task).and_then(|command| command.surroundings.as_deref());
        let Some(around) = around else { continue };
        let image = around.container.as_ref().filter(|c| c.is_file()).map(|c| &c.image);
        let conda = around.conda.as_ref().filter(|name| name.contains('/'));
        for (what, name) in [("image", image), ("conda environment", conda)] {
            let Some(path) = name.map(|name| path_of(name, home)) else { continue };
            let told = format!("no {what} {}", path.display());
            let is_new = || missing.iter().all(|(_, known)| *known != told);
            if path.starts_with(home) && !path.exists() && is_new() {
                missing.push((workflow.task_name(task).to_string(), told));
            }
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;

    #[test]
    fn nothing_stated_changes_nothing() {
        let argv = vec!["sort".to_string(), "a b".to_string()];
        let around = Surroundings {
            env: [("A".to_string(), "1".to_string())].into(),
            time_limit: Some(3.0),
            ..Surroundings::default()
        };
        assert_eq!(surrounded(&around, Path::new("/"), argv.clone()), argv);
    }

    #[test]
    fn a_conda_environment_of_a_folder_is_activated_and_one_that_is_missing_is_named() {
        let root = tempfile::tempdir().unwrap();
        let env = root.path().join("an env");
        std::fs::create_dir_all(env.join("etc/conda/activate.d")).unwrap();
        std::fs::create_dir(env.join("bin")).unwrap();
        std::fs::write(env.join("etc/conda/activate.d/a.sh"), "export EXTRA=yes\n").unwrap();
        let around = Surroundings { conda: Some("./an env".into()), ..Surroundings::default() };
        let argv =
            ["/bin/sh", "-c", "echo \"$CONDA_DEFAULT_ENV $EXTRA ${PATH%%:*} $1\"", "x", "a  b"];
        let words = surrounded(&around, root.path(), argv.map(str::to_string).to_vec());
        let done = std::process::Command::new(&words[0]).args(&words[1..]).output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        let bin = root.path().join("./an env/bin");
        assert_eq!(said, format!("an env yes {} a  b\n", bin.display()));
        let around = Surroundings { conda: Some("no-such-env".into()), ..Surroundings::default() };
        let why = run_shell(&script(&around, root.path())).unwrap_err();
        assert_eq!(why, "no conda environment no-such-env on this host");
    }
}
