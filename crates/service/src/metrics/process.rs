//! What the system tells of this process, under the names that every Prometheus client uses. It is written as text, since the processor's
//! seconds are a counter with a fraction. Where there is no /proc there is nothing to tell.

use std::fmt::Write as _;

use super::table::{PROCESS_CPU, PROCESS_FILES, PROCESS_FILES_MAX, PROCESS_MEMORY, PROCESS_START, TABLE};

/// In which Linux counts processor time for programs, on every machine that this service is built for.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn text() -> String {
    let mut out = String::new();
    let told = [
        (PROCESS_CPU, cpu_seconds()),
        (PROCESS_MEMORY, resident_bytes()),
        (PROCESS_FILES, open_files()),
        (PROCESS_FILES_MAX, files_max()),
        (PROCESS_START, start_seconds()),
    ];
    for (name, value) in told {
        let (Some(value), Some(row)) = (value, TABLE.iter().find(|row| row.name == name)) else { continue };
        let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {}\n{name} {value}\n", row.about, row.kind.name());
    }
    out
}

/// A field of `/proc/self/stat`, counted from 1 as its manual does. The program's name, which may hold anything, stands in brackets before.
fn stat(field: usize) -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(field.checked_sub(3)?)?.parse().ok()
}

fn cpu_seconds() -> Option<f64> {
    Some((stat(14)? + stat(15)?) / TICKS_PER_SECOND)
}

fn resident_bytes() -> Option<f64> {
    let kibibytes = named(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")?;
    Some(kibibytes * 1024.0)
}

fn open_files() -> Option<f64> {
    // The folder that is read is itself open meanwhile.
    let count = std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    u32::try_from(count).ok().map(f64::from)
}

fn files_max() -> Option<f64> {
    named(&std::fs::read_to_string("/proc/self/limits").ok()?, "Max open files")
}

fn start_seconds() -> Option<f64> {
    let booted = named(&std::fs::read_to_string("/proc/stat").ok()?, "btime")?;
    Some(booted + stat(22)? / TICKS_PER_SECOND)
}

/// The number after the name that begins a line.
fn named(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_plausible_things() {
        let now = f64::from(u32::try_from(jiff::Timestamp::now().as_second()).unwrap());
        let started = start_seconds().unwrap();
        assert!((now - 86_400.0..=now + 2.0).contains(&started), "{started}");
        assert!(cpu_seconds().unwrap() >= 0.0 && open_files().unwrap() > 2.0 && files_max().unwrap() > 2.0);
        assert!((1e6..1e12).contains(&resident_bytes().unwrap()));
        assert_eq!(text().matches("# TYPE ").count(), 5);
    }
}
