//! CONTRIBUTING.md can be followed to the letter: files it asks for have a folder and are not
//! there yet, and every line it adds has exactly one place. Its code is compiled as a doc-test.

use std::path::Path;

const GUIDE: &str = include_str!("../../../../CONTRIBUTING.md");

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The instructions in the comments of the guide.
fn instructions() -> Vec<&'static str> {
    let comments = GUIDE.split("<!-- ").skip(1);
    comments.filter_map(|text| text.split(" -->").next()).collect()
}

#[test]
fn every_step_has_its_place() {
    let mut steps = 0;
    for instruction in instructions() {
        if let Some(file) = instruction.strip_prefix("file: ") {
            let path = root().join(file);
            assert!(!path.exists(), "{file} is already there");
            assert!(path.parent().unwrap().is_dir(), "{file} has no folder");
        } else {
            let rest = instruction.strip_prefix("after `").unwrap();
            let (line, file) = rest.split_once("` in ").unwrap();
            let text = std::fs::read_to_string(root().join(file)).unwrap();
            let places = text.lines().filter(|l| *l == line).count();
            assert_eq!(places, 1, "`{line}` in {file}");
        }
        steps += 1;
    }
    assert!(steps >= 10, "{steps}");
}

#[test]
fn what_it_names_is_there() {
    let named = GUIDE.split('`').skip(1).step_by(2).filter(|word| {
        let path = word.starts_with("crates/") || word.ends_with(".md");
        path && !word.contains([' ', '*', '\n']) && !word.contains("platform-no-hosts")
    });
    for path in named {
        assert!(root().join(path).exists(), "{path}");
    }
}
