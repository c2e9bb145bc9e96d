//! What the kernel says of a process: processor time and resident memory.

use std::fs;

use anyhow::Context;

/// Ticks a second in which Linux counts a process's time, on every platform of ours.
const TICKS_PER_SECOND: f64 = 100.0;
const KIB_PER_MIB: f64 = 1_024.0;

/// Seconds of processor time that the process has used, its own and the kernel's for it.
pub fn cpu_seconds(process: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, in brackets, may hold anything.
    let rest = text.rsplit(')').next().context("fields")?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut next = || fields.next().and_then(|field| field.parse::<f64>().ok()).context("a time");
    Ok((next()? + next()?) / TICKS_PER_SECOND)
}

/// MiB of memory.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub resident: f64,
    /// The most that was ever resident.
    pub peak: f64,
}

pub fn memory(process: u32) -> anyhow::Result<Memory> {
    let text = fs::read_to_string(format!("/proc/{process}/status"))?;
    let mib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| name.to_owned())?;
        let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
        anyhow::Ok(kib / KIB_PER_MIB)
    };
    Ok(Memory { resident: mib("VmRSS:")?, peak: mib("VmHWM:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_size_and_a_time() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.resident > 1.0 && memory.peak >= memory.resident);
        assert!(cpu_seconds(std::process::id()).unwrap() < 3_600.0);
    }
}
