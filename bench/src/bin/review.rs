//! What the review table of a book costs a person who opens it while 50,000 rows wait: in every order, from its first rows and from its last, and filtered. Then the
//! same of the results of a job with 100,000 rows, in a book with as many decisions as rows waited.
//!
//! `cargo build --release -p taxon && cargo run --release -p taxon-bench --bin review [--rows N] [--results N]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use reqwest::header::{ACCEPT_ENCODING, LOCATION};
use sqlx::{Connection, SqliteConnection};
use taxon_bench::figures::{Figures, median, number};
use taxon_bench::service::{Setup, repository};

const ROUNDS: usize = 5;
const MILLIS_MAX: f64 = 300.0;
const BYTES_MAX: f64 = 80_000.0;
const EMAIL: &str = "person@example.com";
const PASSWORD: &str = "correct horse battery";
/// First and last pages of every order, and filters that fit many rows, few and none.
const PAGES: [&str; 12] = [
    "",
    "sort=-date",
    "sort=wallet",
    "sort=-protocol",
    "sort=category",
    "sort=confidence",
    "state=all&sort=-confidence",
    "sort=date&after=1799999999:0:0x:0x:a:a",
    "sort=-protocol&after=0:0:0x:0x:a:Protocol 1",
    "category=gift",
    "wallet=0x0000000000000000000000000000000000000007",
    "chain=nowhere&find=ffffffff",
];
/// Both orders from their first rows and from the middle, and filters that fit many rows, few and none.
const RESULTS: [&str; 11] = [
    "",
    "sort=newest",
    "after=1769815000:600:50",
    "category=swap",
    "treatment=income&sort=newest",
    "chain=nowhere",
    "state=read",
    "state=review",
    "state=decided",
    "state=failed",
    "from=2020-01-01&to=2030-12-31",
];
const BOUNDARY: &str = "----results";
const FINISHED_SECONDS_MAX: u32 = 60;
/// As many more parts as this, all of them like the first. Each page then has rows of as many parts as it has rows.
const COPY: &str = "INSERT INTO job_parts (job_id, number, row_count, asked, answers, times, is_done, tries, done_at)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $2)
    SELECT job_id, n, row_count, asked, answers, times, is_done, tries, done_at FROM numbers CROSS JOIN job_parts
    WHERE job_id = $1 AND number = 0";
const DECIDE: &str =
    "INSERT INTO decisions (book_id, hash, wallet, category, treatment, comment, decided_by, decided_at, seen)
    SELECT book_id, hash, wallet, 'gift', 'non_taxable', 'A gift of the year before.', books.owner_id, 1, ''
    FROM book_rows JOIN books ON books.id = book_rows.book_id WHERE books.id = $1";
const FILL: &str = "INSERT INTO book_rows (book_id, hash, wallet, chain, time, category, treatment, confidence, needs_review, protocol, note, amounts,
                                         contract, function, engine, job_id, part, read_at, state)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $2)
    SELECT $1, printf('0x%032x%032x', n * 2654435761, n), printf('0x%040x', n % 40), CASE WHEN n % 3 = 0 THEN 'base' ELSE 'demo' END,
           1700000000 + n * 7919 % 31536000, CASE WHEN n % 97 = 0 THEN 'gift' ELSE 'unclassified' END, 'needs_review', n % 60, 1,
           'Protocol ' || (n % 200),
           'Seen: 130 dUSD sent to 0x82b769500e34362a76df81150e12c746093d954f. Missing: no rule says what the call 0x9f1d0f59 was for. Look at what it does.',
           '123456.789012345678 dUSD → 0.123456789012345678 ETH', '0x82b769500e34362a76df81150e12c746093d954f', '9f1d0f59', '0.1.0+0', '', 0, 1, 'open'
    FROM numbers";

#[derive(Parser)]
struct Arguments {
    /// Rows that wait
    #[arg(long, default_value_t = 50_000)]
    rows: i64,
    /// Rows of the job
    #[arg(long, default_value_t = 100_000)]
    results: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Arguments { rows, results } = Arguments::parse();
    let taxon = Setup::new()?.demo().with("TAXON_LOG", "error").start()?;
    let person = Person::signed_in(&taxon.url).await?;
    let table = person.location("/review").await?;
    let book = table.split('/').nth(2).context("a book")?.to_owned();
    let file = format!("sqlite:{}", taxon.folder().join("taxon.db").display());
    let mut database = SqliteConnection::connect(&file).await?;
    sqlx::query(FILL).bind(&book).bind(rows).execute(&mut database).await?;
    let mut figures = Figures::default();
    println!("the review table of {rows} open rows");
    let (slowest, largest) = person.opens(&table, &PAGES).await?;
    figures.add("review_page_ms", slowest);
    figures.add("review_page_bytes", largest);

    let job = person.job().await?;
    sqlx::query(DECIDE).bind(&book).execute(&mut database).await?;
    let id = job.trim_start_matches("/jobs/");
    let part: i64 = sqlx::query_scalar("SELECT row_count FROM job_parts WHERE job_id = $1 AND number = 0")
        .bind(id)
        .fetch_one(&mut database)
        .await?;
    sqlx::query(COPY).bind(id).bind(results / part).execute(&mut database).await?;
    database.close().await?;
    println!("the results of a job of {} rows", (results / part + 1) * part);
    let (slowest, largest) = person.opens(&format!("{job}/rows"), &RESULTS).await?;
    figures.add("results_page_ms", slowest);
    figures.add("results_page_bytes", largest);
    figures.print();
    Ok(())
}

/// Somebody with a session.
struct Person {
    http: reqwest::Client,
    url: String,
    cookie: String,
}

impl Person {
    async fn signed_in(url: &str) -> anyhow::Result<Self> {
        let http =
            chains::http::client_builder().no_gzip().no_proxy().redirect(reqwest::redirect::Policy::none()).build()?;
        let mut person = Self { http, url: url.to_owned(), cookie: String::new() };
        person.enter("/sign-up").await?;
        person.enter("/sign-in").await?;
        Ok(person)
    }

    /// Fills in the form of a door, and keeps the cookies.
    async fn enter(&mut self, path: &str) -> anyhow::Result<()> {
        let door = self.http.get(format!("{}{path}", self.url)).header("cookie", &self.cookie).send().await?;
        self.keep(&door);
        let page = door.text().await?;
        let form = page.split(&format!("action=\"{path}\"")).nth(1).context("no form")?;
        let proof = form.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let (proof, email, password) =
            (proof.context("no proof")?, EMAIL.replace('@', "%40"), PASSWORD.replace(' ', "+"));
        let request = self.http.post(format!("{}{path}", self.url)).header("cookie", &self.cookie);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = request.body(format!("csrf={proof}&email={email}&password={password}")).send().await?;
        ensure!(answer.status().as_u16() < 400, "{path}: {}", answer.status());
        self.keep(&answer);
        Ok(())
    }

    fn keep(&mut self, answer: &reqwest::Response) {
        let set = answer.headers().get_all("set-cookie").iter().filter_map(|cookie| cookie.to_str().ok());
        for pair in set.filter_map(|cookie| cookie.split(';').next()) {
            let name = pair.split('=').next().unwrap_or_default();
            let others =
                self.cookie.split("; ").filter(|known| !known.is_empty() && known.split('=').next() != Some(name));
            self.cookie = others.chain([pair]).collect::<Vec<_>>().join("; ");
        }
    }

    /// Opens each of these pages: the slowest in milliseconds, and the largest in bytes.
    async fn opens(&self, table: &str, queries: &[&str]) -> anyhow::Result<(f64, f64)> {
        println!("one reader: median of {ROUNDS} until all of it is there, bytes as they are and compressed");
        let (mut slowest, mut largest) = (0.0_f64, 0.0_f64);
        for query in queries {
            let path = format!("{table}?{query}");
            let mut millis = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                let started = Instant::now();
                self.bytes(&path, "identity").await?;
                millis.push(started.elapsed().as_secs_f64() * 1_000.0);
            }
            let (plain, packed) = (self.bytes(&path, "identity").await?, self.bytes(&path, "gzip").await?);
            let millis = median(millis);
            println!("  {millis:>7.1} ms {plain:>8} {packed:>7}  {query}");
            (slowest, largest) = (slowest.max(millis), largest.max(number(plain)));
        }
        println!(
            "slowest {slowest:.1} ms (goal: at most {MILLIS_MAX}), largest {largest} bytes uncompressed (goal: at most {BYTES_MAX})"
        );
        Ok((slowest, largest))
    }

    /// Uploads the table of the demo, starts it and waits until it is read; the path of its page.
    async fn job(&self) -> anyhow::Result<String> {
        let table = std::fs::read_to_string(repository().join("demo/demo.csv"))?;
        let page = self.text("/jobs").await?;
        let proof = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let proof = proof.context("no proof")?;
        let part = |name: &str, value: &str| {
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\r\n\r\n{value}\r\n")
        };
        let parts = part("csrf\"", proof) + &part("file\"; filename=\"demo.csv\"", &table);
        let request = self.http.post(format!("{}/jobs", self.url)).header("cookie", &self.cookie);
        let request = request.header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"));
        let answer = request.body(format!("{parts}--{BOUNDARY}--\r\n")).send().await?;
        let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        let job = place.with_context(|| format!("the table was refused: {}", answer.status()))?.to_owned();
        let start = self.http.post(format!("{}{job}/start", self.url)).header("cookie", &self.cookie);
        let start = start.header("content-type", "application/x-www-form-urlencoded");
        let started = start.body(format!("csrf={proof}")).send().await?;
        ensure!(started.headers().contains_key(LOCATION), "the job was not started: {}", started.status());
        for _ in 0..FINISHED_SECONDS_MAX {
            if self.text(&job).await?.contains(">Finished<") {
                return Ok(job);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        anyhow::bail!("the job did not end");
    }

    async fn text(&self, path: &str) -> anyhow::Result<String> {
        let answer = self.http.get(format!("{}{path}", self.url)).header("cookie", &self.cookie).send().await?;
        ensure!(answer.status().is_success(), "{path}: {}", answer.status());
        Ok(answer.text().await?)
    }

    async fn location(&self, path: &str) -> anyhow::Result<String> {
        let answer = self.http.get(format!("{}{path}", self.url)).header("cookie", &self.cookie).send().await?;
        let place = answer.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        Ok(place.with_context(|| format!("{path} leads nowhere: {}", answer.status()))?.to_owned())
    }

    /// How many a page has on its way.
    async fn bytes(&self, path: &str, encoding: &'static str) -> anyhow::Result<usize> {
        let request = self.http.get(format!("{}{path}", self.url)).header("cookie", &self.cookie);
        let answer = request.header(ACCEPT_ENCODING, encoding).send().await?;
        ensure!(answer.status().is_success(), "{path}: {}", answer.status());
        Ok(answer.bytes().await?.len())
    }
}
