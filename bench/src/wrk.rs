//! Closed-loop load from `wrk` (Debian's package), which costs less than what it measures.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// What a program said on its standard output.
pub fn told(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().context("wrk and curl are needed: apt-get install wrk curl")?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Posts the body again and again, with one key after the other.
pub fn script(path: &Path, keys: &[String], body: &Value) -> anyhow::Result<()> {
    let mut keys_said = String::new();
    for key in keys {
        write!(keys_said, "\"{key}\",")?;
    }
    // Lua's long brackets take JSON as it is. Requests are written once: what is measured is the service, not Lua.
    let text = format!(
        "local keys = {{{keys_said}}}\nlocal requests = {{}}\nlocal at = 0\n\
         function init(arguments)\n  for number, key in ipairs(keys) do\n\
         \u{20}   requests[number] = wrk.format(\"POST\", nil, {{[\"content-type\"] = \"application/json\", \
         [\"authorization\"] = \"Bearer \" .. key}}, [==[{body}]==])\n  end\nend\n\
         function request()\n  at = at % #requests + 1\n  return requests[at]\nend\n"
    );
    Ok(std::fs::write(path, text)?)
}

/// 64 connections, one thread.
pub fn requests_per_second(script: &Path, url: &str, seconds: u64) -> anyhow::Result<f64> {
    let mut wrk = Command::new("wrk");
    let said = told(wrk.args(["-t1", "-c64", "-d", &seconds.to_string(), "-s"]).arg(script).arg(url))?;
    ensure!(!said.contains("Non-2xx") && !said.contains("Socket errors"), "{url} was refused:\n{said}");
    let line = said.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:")).context("no figure")?;
    Ok(line.trim().parse()?)
}
