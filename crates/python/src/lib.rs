//! The engine for Python: rows of facts as JSON in, verdicts as JSON out. What is Python about it, dictionaries and the package's words, is in `python/taxon_engine`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::question::OWN_WALLETS_MAX;
use engine::rules::{Checks, Extent};
use engine::{Account, Classification, Knowledge, Policy, Question, Registry, Rules, Treatments};
use facts::{Plan, Refusal, RowJson, classify};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

/// Rows that a thread takes at a time.
const ROWS_TAKEN: usize = 64;

create_exception!(
    taxon_engine,
    FactsError,
    PyValueError,
    "Facts that no verdict can be given on; `args` are the code and the reason."
);

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SCHEMA_VERSION", facts::schema::VERSION)?;
    module.add("DISCLAIMER", engine::DISCLAIMER)?;
    module.add("FactsError", module.py().get_type::<FactsError>())?;
    module.add_class::<Engine>()
}

/// Rules, treatments and chains. Loading them takes a second; one serves any number of threads.
#[pyclass(frozen, module = "taxon_engine")]
#[derive(Debug)]
struct Engine {
    chains: Registry,
    knowledge: Knowledge,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Asked {
    wallet: Option<String>,
    own_wallets: Option<Vec<String>>,
    policy: Option<Policy>,
    explain: Option<bool>,
}

#[pymethods]
impl Engine {
    /// `chains`: further chains in the format of chains.toml. `rules`: further rule packs, by name.
    #[new]
    #[pyo3(signature = (chains=None, rules=None))]
    fn new(py: Python<'_>, chains: Option<String>, rules: Option<BTreeMap<String, String>>) -> PyResult<Self> {
        py.detach(|| Self::load(chains.as_deref(), &rules.unwrap_or_default())).map_err(PyValueError::new_err)
    }

    /// Version of the engine and digest of its rules, as on every verdict.
    #[getter]
    fn version(&self) -> &str {
        &self.knowledge.engine
    }

    /// One row of facts as JSON and a question as JSON; the verdict as JSON. Raises FactsError where there is none.
    #[pyo3(signature = (facts, question=None))]
    fn classify_json(&self, py: Python<'_>, facts: &str, question: Option<&str>) -> PyResult<String> {
        let question = asked(question)?;
        let verdict = py.detach(|| {
            let verdict = self.verdict(facts, &question, 1)?;
            written(&verdict).map_err(|error| Refusal { code: "internal", reason: error })
        });
        verdict.map_err(|refusal| FactsError::new_err((refusal.code, refusal.reason)))
    }

    /// Many rows, on so many threads, without the interpreter's lock. A row without a verdict has `error`, and `review_note` says why.
    #[pyo3(signature = (facts, question=None, threads=None))]
    fn classify_many_json(
        &self,
        py: Python<'_>,
        facts: Vec<String>,
        question: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Vec<String>> {
        let question = asked(question)?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or(processors).clamp(1, facts.len().div_ceil(ROWS_TAKEN).max(1));
        py.detach(|| self.many(&facts, &question, threads)).map_err(PyValueError::new_err)
    }
}

impl Engine {
    fn load(chains: Option<&str>, more: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut known = Registry::embedded().map_err(|error| error.to_string())?;
        if let Some(text) = chains {
            known.add(text).map_err(|error| error.to_string())?;
        }
        let packs: Vec<(&str, &str)> =
            Rules::embedded_packs().chain(more.iter().map(|(name, text)| (name.as_str(), text.as_str()))).collect();
        let extent = Extent { checks: Checks::LeftOut, ..Extent::default() };
        let rules = Rules::within(&packs, extent).map_err(|faults| told(&faults))?;
        let treatments = Treatments::us().map_err(|faults| told(&faults))?;
        let knowledge = Knowledge::new(rules, treatments, known.chains().iter().map(|chain| &**chain));
        Ok(Self { chains: known, knowledge })
    }

    fn verdict(&self, facts: &str, question: &Question, threads: usize) -> Result<Classification, Refusal> {
        let row = RowJson::parse(facts)?;
        classify(&Plan { knowledge: &self.knowledge, chains: &self.chains, question, threads }, &row.row())
    }

    fn many(&self, rows: &[String], question: &Question, threads: usize) -> Result<Vec<String>, String> {
        let parts: Vec<&[String]> = rows.chunks(ROWS_TAKEN).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some((at, part)) = take(&parts, &next) {
                let verdicts = part.iter().map(|row| written(&self.verdict_or_error(row, question)));
                done.push((at, verdicts.collect::<Result<Vec<String>, String>>()));
            }
            done
        };
        let mut done: Vec<(usize, Result<Vec<String>, String>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        done.sort_by_key(|(at, _)| *at);
        if done.len() != parts.len() {
            return Err("a thread failed".to_owned());
        }
        let mut verdicts = Vec::with_capacity(rows.len());
        for (_, part) in done {
            verdicts.extend(part?);
        }
        Ok(verdicts)
    }

    fn verdict_or_error(&self, facts: &str, question: &Question) -> Classification {
        self.verdict(facts, question, 1).unwrap_or_else(|refusal| {
            let hash = RowJson::parse(facts).ok().and_then(|row| row.row().hash.map(facts::shown));
            Classification::failed(hash, refusal.code, refusal.reason, self.knowledge.engine.clone())
        })
    }
}

fn take<'a>(parts: &[&'a [String]], next: &AtomicUsize) -> Option<(usize, &'a [String])> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    parts.get(at).map(|part| (at, *part))
}

fn asked(question: Option<&str>) -> PyResult<Question> {
    let wrong = |what: &dyn std::fmt::Display| PyValueError::new_err(format!("question: {what}"));
    let Some(text) = question else { return Ok(Question::default()) };
    let asked: Asked = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    let address = |text: &String| Account::parse(text).map_err(|error| wrong(&error));
    let own_wallets = asked.own_wallets.unwrap_or_default();
    if own_wallets.len() > OWN_WALLETS_MAX {
        return Err(wrong(&format!("`own_wallets` takes at most {OWN_WALLETS_MAX} addresses")));
    }
    Ok(Question {
        wallet: asked.wallet.as_ref().map(address).transpose()?,
        own_wallets: own_wallets.iter().map(address).collect::<PyResult<_>>()?,
        policy: asked.policy.unwrap_or_default(),
        explain: asked.explain.unwrap_or(false),
        review_below: None,
    })
}

fn written(verdict: &Classification) -> Result<String, String> {
    let mut bytes = Vec::new();
    verdict.write_json(&mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

fn told(faults: &[engine::rules::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
