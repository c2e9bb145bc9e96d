//! `taxon eval`: how right the readings are on a labelled set of one's own, and which of them a change moved.

mod against;
mod judge;
pub(crate) mod labels;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use engine::Question;

use super::misused;
use super::terminal::{print, safe};
use crate::app::{self, BATCH_ITEMS_MAX, Demo, Item, Reader};
use crate::config::Config;
use against::Report;
use judge::{Judged, judge};
use labels::Label;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Labelled transactions, one JSON object a line (docs/eval.md)
    #[arg(value_name = "CORPUS.jsonl")]
    corpus: PathBuf,
    /// Only the lines of this chain; those that name no chain are looked for on it
    #[arg(long, value_name = "SLUG")]
    chain: Option<String>,
    /// Also look on the demo chain
    #[arg(long)]
    demo: bool,
    /// Write the judged rows to a file
    #[arg(long, value_name = "REPORT.json")]
    out: Option<PathBuf>,
    /// List what moved since an earlier --out
    #[arg(long, value_name = "OLD.json")]
    against: Option<PathBuf>,
    /// How many of the worst rows to list
    #[arg(long, value_name = "N", default_value_t = 25)]
    worst: usize,
}

pub(super) async fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    // Both files are read first, so that a broken one fails before a long run.
    let mut labels = labels::open(&args.corpus)?;
    let earlier = args.against.as_deref().map(against::open).transpose()?;
    let reader = Arc::new(app::reader(config, if args.demo { Demo::On } else { Demo::Off }, None)?);
    for label in &mut labels {
        label.chain = label.chain.take().map(|name| slug(&reader, &name));
    }
    if let Some(name) = &args.chain {
        let only = slug(&reader, name);
        let served = reader.served_slugs();
        if !served.contains(&only) {
            let served = served.join(", ");
            return Ok(misused(&format!("the chain `{}` is not served here; served are: {served}", safe(name))));
        }
        labels.retain(|label| label.chain.as_ref().is_none_or(|chain| *chain == only));
        labels.iter_mut().for_each(|label| label.chain = Some(only.clone()));
    }
    if labels.is_empty() {
        bail!("{}: no line to judge", args.corpus.display());
    }
    let judged = answers(&reader, &labels).await;
    print(&report::page(&judged, args.worst));
    let summary = report::last_line(&judged);
    let rows = judged.into_iter().map(|judged| judged.row).collect();
    let report = Report { summary, engine: reader.knowledge.engine.clone(), rows };
    if let Some(earlier) = &earlier {
        print(&against::page(earlier, &report));
    }
    if let Some(path) = &args.out {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    print(&format!("{}\n", report.summary));
    Ok(ExitCode::SUCCESS)
}

fn slug(reader: &Reader, name: &str) -> String {
    reader.registry.find(name).map_or_else(|| name.to_owned(), |chain| chain.slug.clone())
}

async fn answers<'a>(reader: &Arc<Reader>, labels: &'a [Label]) -> Vec<Judged<'a>> {
    let mut judged = Vec::with_capacity(labels.len());
    for part in labels.chunks(BATCH_ITEMS_MAX) {
        let results = reader.rows(part.iter().map(item).collect()).await;
        judged.extend(
            part.iter().zip(&results).map(|(label, answer)| judge(label, answer, &reader.knowledge.treatments)),
        );
        tracing::info!(done = judged.len(), of = labels.len(), "classified");
    }
    judged
}

fn item(label: &Label) -> Item {
    let question = Question { wallet: label.wallet, ..Question::default() };
    Item { hash: label.hash, tx_id: None, chain: label.chain.clone(), question }
}
