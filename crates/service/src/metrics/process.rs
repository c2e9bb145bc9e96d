//! Process metrics, under the names that every Prometheus client uses. They are written as text, since CPU seconds are a fractional
//! counter, which the recorder's counters cannot hold.

use std::fmt::Write as _;

use metrics_process::collector::collect;

use super::gauge_value;
use super::table::{PROCESS_CPU, PROCESS_FILES, PROCESS_FILES_MAX, PROCESS_MEMORY, PROCESS_START, TABLE};

/// How many files and connections the system lets the process have open, where it tells.
pub(crate) fn descriptors_max() -> Option<u64> {
    collect().max_fds
}

pub(super) fn text() -> String {
    let mut out = String::new();
    let known = collect();
    let told = [
        (PROCESS_CPU, known.cpu_seconds_total),
        (PROCESS_MEMORY, known.resident_memory_bytes.map(gauge_value)),
        (PROCESS_FILES, known.open_fds.map(gauge_value)),
        (PROCESS_FILES_MAX, known.max_fds.map(gauge_value)),
        (PROCESS_START, known.start_time_seconds.map(gauge_value)),
    ];
    for (name, value) in told {
        let (Some(value), Some(row)) = (value, TABLE.iter().find(|row| row.name == name)) else { continue };
        let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {}\n{name} {value}\n", row.about, row.kind.name());
    }
    out
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_plausible_things() {
        let text = text();
        let told = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
        };
        let now = f64::from(u32::try_from(jiff::Timestamp::now().as_second()).unwrap());
        let started = told(PROCESS_START);
        assert!((now - 86_400.0..=now + 2.0).contains(&started), "{started}");
        assert!(told(PROCESS_CPU) >= 0.0 && told(PROCESS_FILES) > 2.0 && told(PROCESS_FILES_MAX) > 2.0);
        assert!((1e6..1e12).contains(&told(PROCESS_MEMORY)));
        assert_eq!(text.matches("# TYPE ").count(), 5);
    }
}
