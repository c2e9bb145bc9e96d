//! A whole block: its transactions are fetched with few calls, and read as single ones are.

use std::sync::Arc;
use std::time::Duration;

use chains::{FetchError, Fetched, FetchedOfBlock};
use engine::{Chain, Question, TxHash};
use futures_util::{StreamExt, stream};

use super::{Answer, FinishedReading, ITEM_SECONDS_MAX, Reader, finish, timed_out};
use crate::cache::CacheQuery;
use crate::error::ApiError;
use crate::logs;

/// A block is given up after this long, whatever its upstreams do: then nothing of it is known.
const BLOCK_SECONDS_MAX: u64 = 30;
/// Transactions of one block that are read at once. What they need of nodes shares requests.
const READINGS_AT_ONCE_MAX: usize = 400;

/// A block as its chain tells it, before anything is read of it.
#[derive(Debug)]
pub(crate) struct FetchedBlock {
    chain: Arc<Chain>,
    transactions: Vec<FetchedOfBlock>,
}

impl FetchedBlock {
    pub(crate) fn len(&self) -> usize {
        self.transactions.len()
    }
}

/// A block that was read.
#[derive(Debug)]
pub(crate) struct BlockReading {
    /// Its transactions, in its order.
    pub(crate) hashes: Vec<TxHash>,
    pub(crate) rows: Vec<BlockRow>,
}

/// What a question about one transaction of a block came to.
#[derive(Debug)]
pub(crate) struct BlockRow {
    /// Place of the transaction in the block, and of the question among all.
    pub(crate) place: usize,
    pub(crate) asked: usize,
    pub(crate) answer: Answer,
}

/// One transaction of a block, and the questions about it that have no cached verdict.
struct BlockItem {
    chain: Arc<Chain>,
    hash: TxHash,
    fetched: Result<Fetched, FetchError>,
    /// With their places among all questions.
    questions: Vec<(usize, Question)>,
}

impl Reader {
    pub(crate) async fn fetch_block(&self, chain: &str, number: u64) -> Result<FetchedBlock, ApiError> {
        let chain = self.served(chain)?;
        let fetching = self.upstreams.block(&chain.slug, number);
        let fetched = tokio::time::timeout(Duration::from_secs(BLOCK_SECONDS_MAX), fetching).await;
        let transactions = fetched.map_err(|_| timed_out(&chain.slug))??;
        Ok(FetchedBlock { chain, transactions })
    }

    /// One row for every transaction of the block and every question, in the order of the block: one that fails fails alone. A wallet that has no
    /// part in a transaction has no row of it.
    pub(crate) async fn read_block(self: &Arc<Self>, block: FetchedBlock, questions: &[Question]) -> BlockReading {
        let FetchedBlock { chain, transactions: fetched } = block;
        let hashes = fetched.iter().map(|one| one.hash).collect();
        let mut rows: Vec<BlockRow> = Vec::new();
        let mut items = Vec::new();
        let verdicts = self.cached_verdicts(&chain, &fetched, questions).await;
        for ((place, FetchedOfBlock { hash, fetched }), verdicts) in fetched.into_iter().enumerate().zip(verdicts) {
            let mut open = Vec::new();
            for (asked, (question, verdict)) in questions.iter().zip(verdicts).enumerate() {
                match verdict {
                    Some(row) => rows.push(BlockRow { place, asked, answer: Ok(row) }),
                    None => open.push((asked, question.clone())),
                }
            }
            if !open.is_empty() {
                let chain = Arc::clone(&chain);
                items.push((place, BlockItem { chain, hash, fetched, questions: open }));
            }
        }
        let readings = stream::iter(items).map(|(place, item)| self.read_item(place, item));
        let read: Vec<Vec<BlockRow>> = readings.buffered(READINGS_AT_ONCE_MAX).collect().await;
        let is_part = |row: &BlockRow| !matches!(row.answer, Err(ApiError::WalletNotInTransaction));
        rows.extend(read.into_iter().flatten().filter(is_part));
        rows.sort_by_key(|row| (row.place, row.asked));
        BlockReading { hashes, rows }
    }

    /// For each transaction one for each question.
    async fn cached_verdicts(
        &self,
        chain: &Chain,
        fetched: &[FetchedOfBlock],
        questions: &[Question],
    ) -> Vec<Vec<Option<Arc<engine::Classification>>>> {
        let pinned = Some(chain.slug.as_str());
        let of_one = |one: &FetchedOfBlock| {
            let hash = one.hash;
            questions.iter().map(move |question| CacheQuery { hash, pinned, question })
        };
        let wanted: Vec<CacheQuery<'_>> = fetched.iter().flat_map(of_one).collect();
        let mut verdicts = self.cache.verdicts(&self.knowledge.engine, &wanted).await.into_iter();
        fetched.iter().map(|_| verdicts.by_ref().take(questions.len()).collect()).collect()
    }

    /// In a task of its own, so that a panic fails one transaction only.
    async fn read_item(self: &Arc<Self>, place: usize, item: BlockItem) -> Vec<BlockRow> {
        let (hash, reader) = (item.hash, Arc::clone(self));
        let asked: Vec<usize> = item.questions.iter().map(|(asked, _)| *asked).collect();
        let answers = tokio::spawn(logs::carried(async move { reader.answers(item).await })).await;
        let answers = answers.unwrap_or_else(|fault| {
            tracing::error!(%hash, %fault, "classification failed");
            vec![Err(ApiError::Internal); asked.len()]
        });
        let row = |(asked, answer)| BlockRow { place, asked, answer };
        asked.into_iter().zip(answers).map(row).collect()
    }

    /// One for each question.
    async fn answers(&self, item: BlockItem) -> Vec<Answer> {
        let BlockItem { chain, hash, fetched, questions } = item;
        let mut fetched = match fetched {
            Ok(fetched) => fetched,
            Err(error) => return vec![Err(error.into()); questions.len()],
        };
        let mut answers = Vec::with_capacity(questions.len());
        for (_, question) in &questions {
            // Facts that nobody else holds are completed in place; so they are given away where this question is the last.
            let is_last = answers.len().saturating_add(1) == questions.len();
            let before = if is_last { None } else { Some(fetched.clone()) };
            let reading = finish(fetched, question, &self.knowledge);
            let reading = tokio::time::timeout(Duration::from_secs(ITEM_SECONDS_MAX), reading).await;
            let reading = reading.map_or_else(|_| Err(timed_out(&chain.slug)), |reading| reading.map_err(Into::into));
            let (after, answer) = match reading {
                Ok(reading) => {
                    let (fetched, answer) = self.kept(&chain, hash, question, reading).await;
                    (Some(fetched), answer)
                }
                Err(error) => (None, Err(error)),
            };
            answers.push(answer);
            match after.or(before) {
                Some(next) => fetched = next,
                None => break,
            }
        }
        answers
    }

    /// The verdict is cached, for a block that is delivered again. Facts are not: of a long range of blocks hardly any is asked for again, and they would push
    /// out those that are.
    async fn kept(
        &self,
        chain: &Chain,
        hash: TxHash,
        question: &Question,
        reading: FinishedReading,
    ) -> (Fetched, Answer) {
        let FinishedReading { fetched, answer, has_learned: _ } = reading;
        let Some(answer) = answer else { return (fetched, Err(ApiError::WalletNotInTransaction)) };
        let row = Arc::new(answer);
        if let Some(keeper) = &self.keeper {
            keeper.keep(fetched.facts(), question.wallet).await;
        }
        self.cache.keep_verdict(hash, Some(&chain.slug), question, &fetched, &row);
        (fetched, Ok(row))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chains::{Registry, Tape, TokenMemory, Upstreams, tape_node};
    use engine::{Account, Knowledge};
    use serde_json::{Value, json};

    use super::*;
    use crate::app::Item;
    use crate::cache::Cache;
    use crate::store::Shelf;

    const NUMBER: &str = "0x3e8";
    const BLOCK_HASH: &str = "0x2222222222222222222222222222222222222222222222222222222222222222";

    /// The demo's transactions in one block, told by block only or one by one only.
    fn reader(is_by_block: bool) -> Arc<Reader> {
        let recorded = include_str!("../../../../../demo/evm.jsonl").lines();
        let mut rows: Vec<Value> = recorded.map(|line| serde_json::from_str(line).unwrap()).collect();
        let header = json!({ "hash": BLOCK_HASH, "number": NUMBER, "timestamp": "0x65000000" });
        let mut told: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        for row in &mut rows {
            let method = row["method"].as_str().unwrap().to_owned();
            let is_part = ["eth_getTransactionByHash", "eth_getTransactionReceipt"].contains(&method.as_str());
            if is_part {
                let result = &mut row["result"];
                (result["blockNumber"], result["blockHash"]) = (json!(NUMBER), json!(BLOCK_HASH));
            }
            if is_part || method == "debug_traceTransaction" {
                let hash = row["params"][0].as_str().unwrap().to_owned();
                told.entry(method).or_default().insert(hash, row["result"].clone());
            }
        }
        let mut said = |method: &str, params: Value, result: Value| {
            rows.push(json!({ "chain": "demo", "method": method, "params": params, "result": result }));
        };
        said("eth_getBlockByNumber", json!(["finalized", false]), header.clone());
        said("eth_getBlockByNumber", json!([NUMBER, false]), header.clone());
        if is_by_block {
            let all = |method: &str| told[method].values().cloned().collect::<Vec<Value>>();
            let mut block = header;
            block["transactions"] = all("eth_getTransactionByHash").into();
            said("eth_getBlockByNumber", json!([NUMBER, true]), block);
            said("eth_getBlockReceipts", json!([NUMBER]), all("eth_getTransactionReceipt").into());
            let traces = told["debug_traceTransaction"].iter();
            let traces = traces.map(|(hash, trace)| json!({ "txHash": hash, "result": trace })).collect();
            said("debug_traceBlockByNumber", json!([NUMBER, { "tracer": "callTracer" }]), traces);
            rows.retain(|row| !told.contains_key(row["method"].as_str().unwrap()));
        }
        let tape: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let mut registry = Registry::embedded().unwrap();
        registry.add(include_str!("../../../../../demo/chain.toml")).unwrap();
        let cache = Arc::new(Cache::new(64 * 1024 * 1024, Shelf::Absent, 0));
        let memory: Arc<dyn TokenMemory> = cache.clone();
        let node = tape_node(registry.find("demo").unwrap(), &Arc::new(Tape::read(&tape).unwrap()));
        let upstreams = Upstreams::new([node], &memory);
        Arc::new(Reader::new(Knowledge::embedded().unwrap(), registry, upstreams, cache))
    }

    async fn read(
        reader: &Arc<Reader>,
        chain: &str,
        number: u64,
        questions: &[Question],
    ) -> Result<BlockReading, ApiError> {
        let block = reader.fetch_block(chain, number).await?;
        Ok(reader.read_block(block, questions).await)
    }

    fn of_wallet(wallet: &str) -> Question {
        Question { wallet: Some(Account::parse(wallet).unwrap()), ..Question::default() }
    }

    fn json_of(answer: &Answer) -> Value {
        serde_json::to_value(answer.as_ref().unwrap().as_ref()).unwrap()
    }

    #[tokio::test]
    async fn a_block_is_read_as_its_transactions_are_one_by_one() {
        let (by_block, one_by_one) = (reader(true), reader(false));
        let BlockReading { hashes, rows } = read(&by_block, "demo", 1_000, &[Question::default()]).await.unwrap();
        assert!(rows.len() > 50 && rows.len() == hashes.len());
        for (place, row) in rows.iter().enumerate() {
            assert_eq!((row.place, row.asked), (place, 0));
            let item =
                Item { hash: hashes[place], chain: Some("demo".into()), tx_id: None, question: Question::default() };
            let alone = one_by_one.read(vec![one_by_one.seek(item)]).await.pop().unwrap();
            assert_eq!(json_of(&row.answer), json_of(&alone));
        }
        // Verdicts are cached: the transaction is answered alone though the node tells nothing of it alone.
        let item = Item { hash: hashes[7], chain: Some("demo".into()), tx_id: None, question: Question::default() };
        let cached = by_block.read(vec![by_block.seek(item)]).await.pop().unwrap();
        assert_eq!(json_of(&cached), json_of(&rows[7].answer));
    }

    #[tokio::test]
    async fn wallets_have_rows_of_what_they_are_part_of() {
        let (by_block, one_by_one) = (reader(true), reader(false));
        let sender = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
        let (stranger, nobody) = (format!("0x{:040x}", 0xdead), format!("0x{:040x}", 0xbeef));
        let questions = [of_wallet(&stranger), of_wallet(sender), of_wallet(&nobody)];
        let all = read(&by_block, "demo", 1_000, &[Question::default()]).await.unwrap();
        for _ in 0..2 {
            let rows = read(&by_block, "demo", 1_000, &questions).await.unwrap().rows;
            assert!(rows.len() > 20 && rows.iter().all(|row| row.asked == 1), "{}", rows.len());
            for (place, hash) in all.hashes.iter().enumerate() {
                let (chain, question) = (Some("demo".to_owned()), questions[1].clone());
                let item = Item { hash: *hash, chain, tx_id: None, question };
                let alone = one_by_one.read(vec![one_by_one.seek(item)]).await.pop().unwrap();
                let row = rows.iter().find(|row| row.place == place);
                match alone {
                    Err(ApiError::WalletNotInTransaction) => assert!(row.is_none()),
                    alone => assert_eq!(json_of(&row.unwrap().answer), json_of(&alone)),
                }
            }
        }
        assert!(read(&by_block, "demo", 1_000, &[]).await.unwrap().rows.is_empty());
    }

    #[tokio::test]
    async fn a_block_that_cannot_be_had_is_an_error() {
        let reader = reader(true);
        let of = async |chain: &str, number: u64| {
            read(&reader, chain, number, &[Question::default()]).await.map(|block| block.rows.len()).unwrap_err()
        };
        assert_eq!(of("atlantis", 1_000).await.item_code(), "unsupported_chain");
        assert_eq!(of("demo", 7).await.code(), "upstream_unavailable");
    }
}
