//! Jobs on pages: from the upload of a table to its downloads, and what is refused on the way.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use futures_util::stream;
use reqwest::Method;

use super::browser::{Browser, PAGE_BYTES_MAX, Page, in_parts, proxied};
use super::strangers::harmless;
use crate::harness::{Taxon, demo_scenario, root};

const DONE: Duration = Duration::from_secs(60);

fn demo_table() -> String {
    std::fs::read_to_string(root().join("demo/demo.csv")).unwrap()
}

async fn upload(person: &mut Browser, table: &str, fields: &[(&str, &str)]) -> Page {
    person.submit("/jobs", "/jobs", &[&[("file", table)], fields].concat()).await
}

/// The path of a job that was taken in, and waits to be started.
async fn taken(person: &mut Browser, table: &str, fields: &[(&str, &str)]) -> String {
    let page = upload(person, table, fields).await;
    assert_eq!(page.status, 303, "{}", page.text);
    page.location().to_owned()
}

async fn start(person: &mut Browser, job: &str) {
    let started = person.submit(job, &format!("{job}/start"), &[]).await;
    assert_eq!((started.status, started.location()), (303, job), "{}", started.text);
}

/// The path of a job that was taken in and started.
async fn begun(person: &mut Browser, table: &str, fields: &[(&str, &str)]) -> String {
    let job = taken(person, table, fields).await;
    start(person, &job).await;
    job
}

/// The page of a job, once it says so.
async fn comes_to(person: &mut Browser, path: &str, state: &str) -> Page {
    let start = Instant::now();
    loop {
        let page = person.get(path).await;
        if page.has(&format!(">{state}</span>")) {
            return page;
        }
        assert!(page.status == 200 && start.elapsed() < DONE, "{}", page.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn has_no_jobs(person: &mut Browser) -> bool {
    person.get("/jobs").await.has("Nothing here yet.")
}

#[tokio::test]
async fn a_table_is_uploaded_read_and_downloaded() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    assert!(has_no_jobs(&mut person).await);
    let table = format!("{}not a hash,demo\n,demo\n", demo_table());
    let job = taken(&mut person, &table, &[("name", " year 2024 ")]).await;
    let count = demo_table().lines().count() - 1;
    let first: Vec<String> = demo_table().lines().skip(1).take(11).map(str::to_owned).collect();
    let page = person.get(&job).await;
    for words in [
        ">Ready to start</span>".to_owned(),
        format!("<strong>{count}</strong> transactions; none is read before you start it."),
        format!("The first 10 of {count}."),
        "It has the columns <bdi class=\"stranger\">hash</bdi>, <bdi class=\"stranger\">chain</bdi>.".to_owned(),
        "<td><bdi class=\"stranger\">demo</bdi></td><td><span class=\"quiet\">found when it is read</span></td>"
            .to_owned(),
        "<dt>Refused</dt><dd>1</dd>".to_owned(),
        format!("href=\"{job}/cancel\""),
    ] {
        assert!(page.has(&words), "no {words} in {}", page.text);
    }
    for (at, row) in first.iter().enumerate() {
        assert_eq!(page.has(row.split_once(',').unwrap().0), at < 10, "row {at}: {row}");
    }
    assert!(!page.has("data-live") && !page.has("results?format"), "nothing is read yet");
    start(&mut person, &job).await;
    assert_eq!(person.post(&format!("{job}/start"), &[]).await.status, 303, "twice is harmless");
    let page = comes_to(&mut person, &job, "Finished").await;
    let answers = person.get(&format!("{job}/results?format=jsonl")).await.text;
    let reviews = answers.lines().filter(|line| line.contains("\"needs_review\":true")).count();
    assert!(reviews > 0 && answers.lines().count() == count, "{answers}");
    let rows =
        format!("{count} of {count}</strong> rows done (100 %): {count} read, {reviews} of them for review; 0 failed.");
    for words in [
        "year 2024</bdi></h1>".to_owned(),
        format!("<progress max=\"{count}\" value=\"{count}\""),
        rows.clone(),
        " rows a second.".to_owned(),
        "<dt>Hashes from</dt><dd><bdi class=\"stranger\">hash</bdi></dd>".to_owned(),
        "<dt>Chain from</dt><dd><bdi class=\"stranger\">chain</bdi></dd>".to_owned(),
        "<dt>Wallet from</dt><dd><span class=\"quiet\">none</span></dd>".to_owned(),
        "<dt>Without a hash</dt><dd>1</dd>".to_owned(),
        "<dt>Refused</dt><dd>1</dd>".to_owned(),
        format!("<td>{}</td><td><bdi class=\"stranger\">hash</bdi></td>", count + 2),
        "<code>not a hash</code> is no hash of a transaction".to_owned(),
    ] {
        assert!(page.has(&words), "no {words} in {}", page.text);
    }
    for over in ["data-live", "Cancel this job", "noscript", " left."] {
        assert!(!page.has(over), "{over}");
    }
    assert!(person.transferred(&job).await < PAGE_BYTES_MAX);
    let list = person.get("/jobs").await;
    assert!(list.has(&rows) && list.has(&format!("href=\"{job}\"")) && list.has(">Finished</span>"), "{}", list.text);

    // Every download is the file that the interface gives.
    let key = person.new_key("").await;
    let start = format!("href=\"{job}/results?format=");
    let formats: Vec<&str> = page.text.split(&start).skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    assert!(formats.len() >= 15 && formats.contains(&"koinly"), "{formats:?}");
    for format in formats {
        let path = format!("{job}/results?format={format}");
        let ours = person.get(&path).await;
        let theirs = taxon.raw(Method::GET, &format!("/v1{path}")).bearer_auth(&key).send().await.unwrap();
        assert_eq!((ours.status, theirs.status().as_u16()), (200, 200), "{format}");
        for header in ["content-type", "content-disposition"] {
            assert_eq!(ours.header(header), theirs.headers()[header].to_str().unwrap(), "{format}");
        }
        assert!(ours.header("content-disposition").starts_with("attachment; filename=\"job_"));
        assert!(ours.text == theirs.text().await.unwrap() && !ours.text.is_empty(), "{format}");
    }
    assert_eq!(person.get(&format!("{job}/results?format=excel")).await.status, 400);

    let mut other = Browser::signed_in(&taxon, "192.0.2.2", "b@example.com").await;
    assert!(has_no_jobs(&mut other).await);
    for path in [job.clone(), format!("{job}/results"), format!("{job}/cancel"), format!("/jobs?before={}", &job[6..])]
    {
        let page = other.get(&path).await;
        assert!(
            page.status == 404 && page.has("<h1>That did not work</h1>") && !page.has("2024"),
            "{path}: {}",
            page.text
        );
    }
    for what in ["cancel", "start"] {
        assert_eq!(other.post(&format!("{job}/{what}"), &[]).await.status, 404);
    }
}

#[tokio::test]
async fn what_cannot_be_understood_is_told_and_nothing_that_was_typed_is_lost() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let done = &demo_scenario().transactions[0];
    let list = format!("hash\n{}\n", done.hash);
    let own = format!("{}\r\n{}", done.wallet, done.wallet);
    let typed = [
        ("name", "the \"first\" try"),
        ("chain", "demo"),
        ("wallet", done.wallet.as_str()),
        ("column", "hash"),
        ("own_wallets", own.as_str()),
        ("lp", "non_taxable"),
        ("staking", ""),
    ];
    let with = |name: &str, value: &'static str| {
        typed.map(|(field, old)| if field == name { (field, value) } else { (field, old) })
    };
    let wide = format!("{}\n", "x,".repeat(5_000));
    for (fields, table, said) in [
        (typed, "", "The file has no rows."),
        (with("column", ""), "a,b\n1,2\n", "No column holds hashes of transactions; the columns are: a, b."),
        (with("column", "proof"), &list, "The table has no column `proof`; the columns are: hash."),
        (typed, "hash\nnonsense\n", "No row of the table names a transaction."),
        (typed, &wide, "Row 1 has more than 1024 columns."),
        (with("wallet", "alice.eth"), &list, "`wallet`: "),
        (with("own_wallets", "bob.eth"), &list, "`own_wallets`: "),
        (with("chain", "atlantis"), &list, "The chain `atlantis` is not served here"),
    ] {
        let page = upload(&mut person, table, &fields).await;
        assert!(page.status == 400 && page.has(said), "{said}: {}", page.text);
        for (field, value) in fields {
            let kept = match field {
                "own_wallets" => format!("spellcheck=\"false\">{}</textarea>", value.replace('\r', "")),
                "lp" => format!("<option value=\"{value}\" selected>"),
                "staking" => "<option value=\"defer\">".to_owned(),
                "chain" if value == "atlantis" => continue,
                "chain" => format!("<option value=\"{value}\" selected>"),
                _ => format!("name=\"{field}\" value=\"{}\"", value.replace('"', "&quot;")),
            };
            assert!(page.has(&kept), "{field} is lost, {kept}: {}", page.text);
        }
    }
    let csrf = person.csrf().await;
    let request = person.request(Method::POST, "/jobs");
    let none_chosen = person.send(in_parts(request, &[("csrf", &csrf), ("file", ""), ("name", "typed")], "")).await;
    assert!(none_chosen.status == 400 && none_chosen.has("Choose a file first.") && none_chosen.has("value=\"typed\""));
    assert!(has_no_jobs(&mut person).await);
}

/// The browser sends all of it before it looks for an answer.
#[tokio::test]
async fn a_file_that_is_too_long_is_refused_on_the_page() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let csrf = person.csrf().await;
    let part = |name: &str, value: &str| {
        Ok::<_, std::io::Error>(format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}"))
    };
    let first = [part("csrf", &csrf), part("file\"; filename=\"long.csv", "hash").map(|file| format!("\r\n{file}"))];
    let rows = std::iter::repeat_n("\n".repeat(1 << 20), 257).map(Ok);
    let last = [Ok("\r\n".to_owned()), part("name", "typed after it\r\n--x--\r\n")];
    let body = reqwest::Body::wrap_stream(stream::iter(first.into_iter().chain(rows).chain(last)));
    let request = person.request(Method::POST, "/jobs").header("content-type", "multipart/form-data; boundary=x");
    let page = person.send(request.body(body)).await;
    assert!(page.status == 400 && page.has("The file is longer than 268435456 bytes."), "{}", page.text);
    assert!(page.has("value=\"typed after it\""), "{}", page.text);
    assert!(has_no_jobs(&mut person).await);
}

#[tokio::test]
async fn the_proof_is_checked_before_the_file_is_taken() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let (csrf, hash) = (person.csrf().await, demo_scenario().transactions[0].hash.clone());
    let (proof, file) = (("csrf", csrf.as_str()), ("file", hash.as_str()));
    for (what, status, fields) in [
        ("no proof", 403, vec![file]),
        ("the proof after the file", 403, vec![file, proof]),
        ("another proof first", 403, vec![("csrf", "x"), proof, file]),
        ("no file", 400, vec![proof]),
        ("two files", 400, vec![proof, file, file]),
    ] {
        let page = person.send(in_parts(person.request(Method::POST, "/jobs"), &fields, "a.csv")).await;
        assert!(page.status == status && page.has("<h1>That did not work</h1>"), "{what}: {}", page.text);
    }
    // A file that has only begun to come in.
    let mut line = hung(&taxon, &person, "wrong");
    let mut answer = [0; 12];
    line.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403");
    assert!(has_no_jobs(&mut person).await);
}

/// A form whose file has only begun to come in.
fn hung(taxon: &Taxon, person: &Browser, csrf: &str) -> TcpStream {
    let cookies: Vec<String> = person.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut line = TcpStream::connect(taxon.url.trim_start_matches("http://")).unwrap();
    let part = "--x\r\ncontent-disposition: form-data; name=";
    write!(
        line,
        "POST /jobs HTTP/1.1\r\nhost: x\r\ncookie: {}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 99999\r\n\r\n\
         {part}\"csrf\"\r\n\r\n{csrf}\r\n{part}\"file\"; filename=\"a\"\r\n\r\nhash\n",
        cookies.join("; ")
    )
    .unwrap();
    line
}

#[tokio::test]
async fn who_sends_two_tables_at_a_time_waits_with_the_third() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let csrf = person.csrf().await;
    let start = Instant::now();
    let (lines, page) = loop {
        // Both anew each time: one that comes while the small table is read is turned away itself.
        let lines = [hung(&taxon, &person, &csrf), hung(&taxon, &person, &csrf)];
        tokio::time::sleep(Duration::from_millis(100)).await;
        let page = upload(&mut person, "hash\nnonsense\n", &[("name", "typed")]).await;
        if page.status != 400 {
            break (lines, page);
        }
        assert!(start.elapsed() < DONE, "two tables hold the places");
    };
    assert!(page.status == 429 && page.has("Too many tables are coming in. Wait 5 seconds."), "{}", page.text);
    assert!(page.has("name=\"name\" value=\"typed\""), "{}", page.text);
    drop(lines);
    let start = Instant::now();
    while upload(&mut person, "hash\nnonsense\n", &[]).await.status == 429 {
        assert!(start.elapsed() < DONE, "the places are free again");
    }
    assert!(has_no_jobs(&mut person).await);
}

#[tokio::test]
async fn hostile_tables_are_harmless_on_every_page() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let tricks = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}\u{200b}`'=cmd|\u{301}\u{301}\u{301}\u{301}";
    let hash = &demo_scenario().transactions[0].hash;
    let csrf = person.csrf().await;
    for length in [1, 2_000] {
        let long = tricks.repeat(length);
        let cells = format!("\"{}\n\"\n", long.replace('"', "\"\""));
        let table = format!("{cells}{hash}\n{}", cells.repeat(150));
        let fields = [("csrf", csrf.as_str()), ("file", &table), ("chain", "demo")];
        let taken = person.send(in_parts(person.request(Method::POST, "/jobs"), &fields, tricks)).await;
        assert_eq!(taken.status, 303, "{}", taken.text);
        let job = taken.location().to_owned();
        harmless(&person.get(&job).await.text, "what will be read");
        start(&mut person, &job).await;
        let page = comes_to(&mut person, &job, "Finished").await;
        assert!(page.text.matches("alert(1)").count() > 100, "it was there to be shown");
        assert!(page.has("The first 100 of 150 are shown."), "{}", page.text);
        harmless(&page.text, "the job");
        assert!(person.transferred(&job).await < PAGE_BYTES_MAX);
        harmless(&person.get(&format!("{job}/cancel")).await.text, "its end");
        harmless(&person.get("/jobs").await.text, "the list");

        // What is refused quotes the table and what was typed.
        let refused = upload(&mut person, &format!("{cells}1\n"), &[("name", tricks), ("wallet", tricks)]).await;
        assert!(refused.status == 400 && refused.has("alert(1)"), "{}", refused.text);
        harmless(&refused.text, "a refusal");
        let refused = upload(&mut person, &format!("{cells}1\n"), &[("column", tricks), ("own_wallets", "")]).await;
        assert!(refused.status == 400 && refused.text.len() < PAGE_BYTES_MAX, "{}", refused.text);
        harmless(&refused.text, "a refusal");
    }
}

#[tokio::test]
async fn a_job_that_waits_says_why_and_is_cancelled_after_a_question() {
    let taxon = proxied().start().await;
    taxon.setup.key("a@example.com", "enterprise", &["--pool", "10"]);
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let job = begun(&mut person, &demo_table(), &[]).await;
    let page = comes_to(&mut person, &job, "Waiting").await;
    assert!(page.has("table.csv</bdi></h1>"), "it is called as its file: {}", page.text);
    for words in ["The owner's pool of this period is used up", " data-live>", "<noscript><p><a href=\"/jobs/"] {
        assert!(page.has(words), "{words}: {}", page.text);
    }
    let cancel = format!("{job}/cancel");
    assert!(page.has(&format!("href=\"{cancel}\"")));
    let asked = person.get(&cancel).await;
    assert!(asked.has("Cancel it") && asked.has("Let it go on"));
    let cancelled = person.submit(&cancel, &cancel, &[]).await;
    assert_eq!((cancelled.status, cancelled.location()), (303, job.as_str()));
    let page = comes_to(&mut person, &job, "Cancelled").await;
    assert!(!page.has("data-live") && !page.has(&cancel));
    assert!(person.get(&cancel).await.has("there is nothing to cancel"));
    let read = person.get(&format!("{job}/results?format=jsonl")).await;
    assert!(read.text.lines().count() >= 10, "what was read stays");
}

#[tokio::test]
async fn the_list_has_pages() {
    let taxon = proxied().start().await;
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let key = person.new_key("").await;
    for number in 0..51 {
        rest_upload(&taxon, &key, number).await;
    }
    let first = person.get("/jobs").await;
    assert_eq!(first.text.matches("<li><p><a href=\"/jobs/job_").count(), 50);
    assert!(first.has("table 50<") && !first.has("table 0<") && !first.has("The newest"));
    let older = format!("/jobs?before={}", first.between("href=\"/jobs?before=", "\""));
    let last = person.get(&older).await;
    assert_eq!(last.text.matches("<li><p><a href=\"/jobs/job_").count(), 1);
    assert!(last.has("table 0<") && last.has("The newest") && !last.has("Older jobs"));
    for odd in ["nothing", "%00", ""] {
        assert_eq!(person.get(&format!("/jobs?before={odd}")).await.status, 404, "{odd}");
    }
}

/// At most 20 jobs are unfinished at a time: then it waits.
async fn rest_upload(taxon: &Taxon, key: &str, number: usize) {
    let hash = demo_scenario().transactions[0].hash.clone();
    let start = Instant::now();
    loop {
        let path = format!("/v1/jobs?chain=demo&name=table%20{number}");
        let answer = taxon.raw(Method::POST, &path).bearer_auth(key).body(hash.clone()).send().await.unwrap();
        if answer.status() == 202 {
            return;
        }
        assert!(answer.status() == 400 && start.elapsed() < DONE, "{}", answer.text().await.unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
