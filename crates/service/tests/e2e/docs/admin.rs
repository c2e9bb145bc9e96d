//! Commands that need root, a container engine or a cluster. They are not run; what they name is held against what is there: services of
//! a compose file, files of the repository, commands of taxon.

use std::process::Command;

use crate::harness::root;

/// What such a line may start with: Debian's own, tools of containers, and scripts of the repository.
const PROGRAMS: [&str; 8] = [
    "deploy/fleet/make-secrets",
    "deploy/make-secrets",
    "docker",
    "install",
    "kubectl",
    "runuser",
    "systemctl",
    "useradd",
];

pub fn check(place: &str, text: &str) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !["<", ">", "|"].contains(word)).collect();
        let (program, rest) = words.split_first().unwrap_or_else(|| panic!("{place}: an empty line"));
        assert!(PROGRAMS.contains(program), "{place}: {program} is none that this test knows");
        for word in words.iter().filter(|word| word.starts_with("deploy/")) {
            assert!(root().join(word).exists(), "{place}: there is no {word}");
        }
        match (*program, rest) {
            ("docker", ["compose", "--file", file, command, rest @ ..]) => compose(place, file, command, rest),
            ("docker", ["compose", command, rest @ ..]) => compose(place, "compose.yaml", command, rest),
            ("docker", ["exec", "taxon", "taxon", rest @ ..]) => knows(place, rest),
            ("docker", ["build" | "run", ..]) => {}
            ("docker", _) => panic!("{place}: {line} is none that this test knows"),
            ("runuser", _) => {
                let at = words.iter().position(|word| *word == "--").unwrap();
                assert_eq!(words[at + 1], "taxon", "{place}");
                knows(place, &words[at + 2..]);
            }
            _ => {}
        }
    }
}

fn compose(place: &str, file: &str, command: &str, words: &[&str]) {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let has = |service: &str| assert!(text.contains(&format!("\n  {service}:\n")), "{place}: no service {service}");
    let words: Vec<&str> = words.iter().copied().skip_while(|word| word.starts_with('-')).collect();
    match command {
        "exec" => {
            has(words[0]);
            assert_eq!(words[1], "taxon", "{place}");
            knows(place, &words[2..]);
        }
        "run" => {
            has(words[0]);
            if words.len() > 1 {
                knows(place, &words[1..]);
            }
        }
        "up" | "stop" | "build" => words.into_iter().for_each(has),
        other => panic!("{place}: docker compose {other} is none that this test knows"),
    }
}

/// Whether taxon takes these arguments: with `--help` among them it only says so, and refuses what it does not know.
fn knows(place: &str, words: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_taxon")).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{place}: {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
