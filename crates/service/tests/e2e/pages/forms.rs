//! Pages carry their security headers, and a form does something only when it is one of ours, whatever its path, its fields and its bytes
//! are.

use reqwest::Method;

use super::browser::{Browser, FORM, PASSWORD, proxied};
use super::{Names, Route, busy, hash, routes, seen};
use crate::harness::{Postgres, read};

#[tokio::test]
async fn every_page_keeps_to_itself_and_strangers_are_led_to_the_door() {
    let taxon = proxied().start().await;
    let mut person = Browser::operator(&taxon, "192.0.2.1", "a@example.com").await;
    let mut stranger = Browser::new(&taxon, "192.0.2.2");
    let names = busy(&taxon, &mut person, "a@example.com").await;
    let csrf = stranger.csrf().await;
    for route in routes() {
        let path = names.path(&route);
        let mut pages = Vec::new();
        if route.is_page {
            let own = person.get(&path).await;
            // Somebody who is signed in is redirected from the sign-in pages.
            let expected = if ["/sign-in", "/review"].contains(&path.as_str()) { 303 } else { 200 };
            assert_eq!(own.status, expected, "{path}: {}", own.text);
            pages.extend([own, stranger.get(&format!("{path}?next=//evil.example&to=https://evil.example")).await]);
        }
        if route.is_form {
            let without = stranger.send(stranger.form(&path, "", &names.fields(&route))).await;
            assert_eq!(without.status, if route.is_open() { 403 } else { 303 }, "{path}");
            pages.push(without);
            if !route.is_open() {
                pages.push(stranger.send(stranger.form(&path, &csrf, &names.fields(&route))).await);
            }
        }
        for page in &pages {
            let policy = page.header("content-security-policy");
            for part in [
                "default-src 'none'",
                "script-src 'self';",
                "form-action 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
            ] {
                assert!(policy.contains(part), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            let fixed = [
                ("x-content-type-options", "nosniff"),
                ("cache-control", "no-store"),
                ("referrer-policy", "same-origin"),
            ];
            for (name, value) in fixed {
                assert_eq!(page.header(name), value, "{path}: {name}");
            }
            let scripts = page.text.matches("<script").count();
            assert_eq!(
                scripts,
                page.text.matches("<script src=\"/assets/").count(),
                "{path}: no script in the page itself"
            );
            for never in ["evil.example", " onclick=", " onload=", " style=\"", "javascript:"] {
                assert!(!page.has(never), "{path}: {never}");
            }
            let forms = page.text.matches("<form").count() - page.text.matches("method=\"get\"").count();
            assert_eq!(
                forms,
                page.text.matches("name=\"csrf\" value=\"").count(),
                "{path}: every form that posts has its proof"
            );
        }
        let strangers = pages.iter().skip(usize::from(route.is_page));
        for page in strangers.filter(|_| !route.is_open()) {
            assert_eq!((page.status, page.location()), (303, "/sign-in"), "{path}");
        }
    }
}

/// Every form, sent in every way in which a stranger's page could have it sent, changes nothing; in our own way it is taken.
#[tokio::test]
async fn no_form_but_our_own_does_anything() {
    let taxon = proxied().start().await;
    let mut person = Browser::operator(&taxon, "192.0.2.1", "a@example.com").await;
    let mut names = busy(&taxon, &mut person, "a@example.com").await;
    let other = Browser::signed_in(&taxon, "192.0.2.2", "b@example.com").await.csrf().await;
    let mut before_sign_in = Browser::new(&taxon, "192.0.2.1");
    before_sign_in.cookies.insert("taxon_visit".to_owned(), person.cookies["taxon_visit"].clone());
    let outside = before_sign_in.csrf().await;
    let own = person.csrf().await;
    assert!(own != other && own != outside, "a session has a proof of its own");
    let operator_page = person.get("/operator").await;
    names.owner_id = operator_page.between("action=\"/operator/owners/", "/tier").to_owned();

    let before = seen(&mut person).await;
    for route in routes().iter().filter(|route| route.is_form) {
        let (path, fields) = (names.path(route), names.fields(route));
        let query = format!("{path}?csrf={own}");
        let form = |csrf: &str| person.form(&path, csrf, &fields);
        let tries = [
            ("no proof", form("")),
            ("the proof in the address", person.form(&query, "", &fields)),
            ("another session's proof", form(&other)),
            ("the proof from before the session", form(&outside)),
            ("another origin", form(&own).header("origin", "https://evil.example")),
            ("another port", form(&own).header("origin", "http://127.0.0.1:1")),
            ("no origin in particular", form(&own).header("origin", "null")),
            ("another site", form(&own).header("sec-fetch-site", "cross-site")),
            ("a neighbour", form(&own).header("sec-fetch-site", "same-site").header("origin", &taxon.url)),
        ];
        for (what, request) in tries {
            let page = person.send(request).await;
            assert_eq!(page.status, 403, "{path} with {what}: {}", page.text);
            assert!(page.has("<h1>That did not work</h1>"), "{path} with {what}");
        }
        if !route.is_page {
            let page = person.get(&query).await;
            let expected = route.leads_to.map_or((405, ""), |to| (303, to));
            assert_eq!((page.status, page.location()), expected, "{path}");
        }
    }
    assert!(seen(&mut person).await == before, "nothing has changed");
    assert_eq!(person.get(&format!("/link/{}", names.token)).await.status, 200, "the link is still valid");
    assert_eq!(
        Browser::new(&taxon, "192.0.2.9").sign_in("fresh@example.com", PASSWORD).await.status,
        200,
        "nobody signed up"
    );

    // A proxy that tells another host than the person sees shuts nobody out whose browser says where the form is from.
    let behind =
        person.form("/account/keys", &own, &[]).header("host", "inside:8080").header("origin", "https://outside");
    assert_eq!(person.send(behind.header("sec-fetch-site", "same-origin")).await.status, 200);

    for route in routes().iter().filter(|route| route.is_form) {
        if !person.is_signed_in().await {
            assert_eq!(person.sign_in("a@example.com", PASSWORD).await.status, 303);
        }
        // The link is another's: it would end this session.
        let mut linked = Browser::new(&taxon, "192.0.2.8");
        let sender = if route.path == "/link/{token}" { &mut linked } else { &mut person };
        let page = sender.post(&names.path(route), &names.fields(route)).await;
        assert!(page.status < 400, "{}: {} {}", route.path, page.status, page.text);
    }
}

#[tokio::test]
async fn odd_requests_are_refused_with_a_page() {
    let taxon = proxied().start().await;
    let mut person = Browser::operator(&taxon, "192.0.2.1", "a@example.com").await;
    let names = busy(&taxon, &mut person, "a@example.com").await;
    let csrf = person.csrf().await;
    for route in forms_that_keep_the_session() {
        let (path, fields) = (names.path(&route), names.fields(&route));
        let right = serde_urlencoded::to_string([&[("csrf", csrf.as_str())], fields.as_slice()].concat()).unwrap();
        let sender = person.clone();
        let raw = |kind: &str, body: Vec<u8>| {
            sender.request(Method::POST, &path).header("content-type", kind.to_owned()).body(body)
        };
        let mut refused = vec![
            ("text/plain", raw("text/plain", right.clone().into_bytes())),
            ("no type", person.request(Method::POST, &path).body(right.clone())),
            ("JSON", raw("application/json", format!("{{\"csrf\":\"{csrf}\"}}").into_bytes())),
            ("parts", raw("multipart/form-data; boundary=x", format!("--x\r\n\r\n{csrf}\r\n--x--").into_bytes())),
            ("twice", raw(FORM, format!("{right}&csrf={csrf}").into_bytes())),
            ("too long", raw(FORM, format!("{right}&more={}", "x".repeat(too_long(&route))).into_bytes())),
            ("nothing", raw(FORM, Vec::new())),
            ("noise", raw(FORM, vec![0xff; 300])),
        ];
        if fields.iter().any(|(name, _)| !["name", "hash"].contains(name)) {
            refused.push(("missing fields", person.form(&path, &csrf, &[])));
        }
        for (what, request) in refused {
            let page = person.send(request).await;
            assert!([400, 403].contains(&page.status), "{path} {what}: {} {}", page.status, page.text);
            assert!(page.has("<h1>That did not work</h1>"), "{path} {what}: {}", page.text);
        }
        // Ten megabytes: it hangs up, or says why not.
        let flood = raw(FORM, [right.as_bytes(), b"&more=", &vec![b'x'; 10_000_000]].concat()).send().await;
        assert!(flood.is_err() || [400, 403].contains(&flood.unwrap().status().as_u16()), "{path}");
    }
    odd_text(&mut person, &names).await;
}

/// PostgreSQL takes less for a text than SQLite does: no NUL, for one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_text_is_refused_on_postgres_too() {
    let postgres = Postgres::start();
    let taxon = proxied().with("TAXON_DATABASE_URL", &postgres.url).start().await;
    let mut person = Browser::operator(&taxon, "192.0.2.1", "a@example.com").await;
    let names = busy(&taxon, &mut person, "a@example.com").await;
    odd_text(&mut person, &names).await;
}

/// Bytes that a form does not take; that of a book has room for a thousand wallets.
fn too_long(route: &Route) -> usize {
    if route.path == "/books/{id}" { 600_000 } else { 70_000 }
}

fn forms_that_keep_the_session() -> impl Iterator<Item = Route> {
    let ends = ["/sign-out", "/account/sign-out-everywhere"];
    routes().into_iter().filter(move |route| route.is_form && !ends.contains(&route.path))
}

/// In every parameter of every path, in every field of every form, and in every query.
async fn odd_text(person: &mut Browser, names: &Names) {
    let csrf = person.csrf().await;
    let long = "x".repeat(6_000);
    let odd = ["%00", "..%2f..%2fetc%2fpasswd", "%ff%fe", "%E2%80%AE", "'%20OR%201=1--", "%25", long.as_str()];
    for route in routes().iter().filter(|route| route.path.contains('{')) {
        let (start, end) = (route.path.split_once('{').unwrap().0, route.path.split_once('}').unwrap().1);
        for name in odd {
            let path = format!("{start}{name}{end}");
            let mut statuses = Vec::new();
            if route.is_page {
                statuses.push(person.get(&path).await.status);
            }
            if route.is_form {
                statuses.push(person.send(person.form(&path, &csrf, &names.fields(route))).await.status);
            }
            // To revoke the keys of nobody is done at once.
            let is_done = |status: &u16| *status == 303 && route.path == "/operator/owners/{id}/revoke";
            assert!(
                statuses.iter().all(|status| [400, 404].contains(status) || is_done(status)),
                "{path}: {statuses:?}"
            );
        }
    }
    let huge = "x".repeat(60_000);
    for route in forms_that_keep_the_session() {
        let (path, fields) = (names.path(&route), names.fields(&route));
        for value in ["a\0b\u{1b}\u{202e}", &huge, "%ff", "\u{feff}", "' OR 1=1", "\u{fffd}"] {
            for (field, _) in &fields {
                let changed: Vec<(&str, &str)> =
                    fields.iter().map(|(name, old)| (*name, if name == field { value } else { *old })).collect();
                let page = person.send(person.form(&path, &csrf, &changed)).await;
                assert!(page.status < 500, "{path}: {field}: {}", page.text);
                assert!(page.location().is_empty() || page.location().starts_with('/'), "{}", page.location());
                assert!(!page.has("\0"), "{path}: {field}");
            }
        }
        if let Some((field, _)) = fields.first() {
            let bytes = [format!("csrf={csrf}&{field}=%FF%FE%00\u{1}").as_bytes(), &[0xff]].concat();
            let request = person.request(Method::POST, &path).header("content-type", FORM).body(bytes);
            assert!(person.send(request).await.status < 500, "{path}");
        }
    }
    for query in ["find=%00", "find=%ff", "find=a&find=b", "review=%00&find=%25_", "find=%E2%80%AE"] {
        for path in ["/jobs", "/books", "/usage", "/readings", "/readings.csv", "/review", "/operator"] {
            let page = person.get(&format!("{path}?{query}&after=%00&done=%00")).await;
            let expected = if path == "/review" { [303, 400] } else { [200, 400] };
            assert!(expected.contains(&page.status), "{path}?{query}: {}", page.text);
        }
        let table =
            format!("/books/{}/review?{query}&after=%00&sort=%00&state=%ff&chain=%00&wallet=%00", names.book_id);
        assert!([200, 400, 404].contains(&person.get(&table).await.status), "{table}");
    }
    for before in [long.as_str(), "%00:%00:%00", "1:%00:x", "1:x:%ff", "99999999999999999999:x:y"] {
        let page = person.get(&format!("/readings?find={long}&before={before}")).await;
        assert!([200, 400].contains(&page.status), "{before}: {}", page.text);
    }
    assert!(person.is_signed_in().await, "nothing broke");
    person.cookies.insert("taxon_visit".to_owned(), "<script>".to_owned());
    person.cookies.insert("taxon_session".to_owned(), "x".repeat(5_000));
    assert!(!person.is_signed_in().await);
}

/// The paths of the interface are what they were before there were pages.
#[tokio::test]
async fn machines_still_hear_json() {
    let taxon = proxied().start().await;
    for (method, path, status, code) in [
        (Method::GET, "/nothing", 404, "not_found"),
        (Method::GET, "/account/", 404, "not_found"),
        (Method::GET, "/readings.csv/x", 404, "not_found"),
        (Method::POST, "/v1/nothing", 404, "not_found"),
        (Method::GET, "/v1/classify", 405, "method_not_allowed"),
        (Method::POST, "/v1/classify", 401, "unauthorized"),
        (Method::DELETE, "/account", 405, "method_not_allowed"),
        (Method::GET, "/operator/sign-up", 405, "method_not_allowed"),
    ] {
        let answer = read(taxon.raw(method, path).send().await.unwrap()).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{path}");
        assert_eq!(answer.headers.contains_key("allow"), status == 405, "{path}");
        assert!(!answer.headers.contains_key("set-cookie") || status == 405, "{path}");
    }
    let answer = taxon.classify(&hash("v2_swap_eth_in")).await;
    assert_eq!((answer.status, answer.headers.contains_key("set-cookie")), (200, false));
    // A session is no key.
    let mut person = Browser::signed_in(&taxon, "192.0.2.1", "a@example.com").await;
    let request = person.request(Method::POST, "/v1/classify").header("content-type", "application/json");
    assert_eq!(person.send(request.body(format!("{{\"hash\":\"{}\"}}", hash("weth_wrap")))).await.status, 401);
}
