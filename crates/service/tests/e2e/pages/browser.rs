//! As much of a browser as the pages need: it keeps cookies, finds a form with its hidden fields, and posts it.

use std::collections::BTreeMap;

use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Method, RequestBuilder};

use crate::harness::{Setup, Taxon};

pub const PASSWORD: &str = "correct horse battery";
/// What a page may take at most on its way.
pub const PAGE_BYTES_MAX: usize = 60_000;
pub const FORM: &str = "application/x-www-form-urlencoded";
/// The one form that holds a file, in its field `file`, and is sent in parts.
const WITH_FILE: &str = "/jobs";
const BOUNDARY: &str = "----WebKitFormBoundaryw4Xz0sFhE5nQmJ7t";

/// One person at one address. The instance must trust 127.0.0.1 as a proxy for the address to count.
#[derive(Clone)]
pub struct Browser {
    http: reqwest::Client,
    url: String,
    address: String,
    pub cookies: BTreeMap<String, String>,
}

#[derive(Debug)]
pub struct Page {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

/// Instances whose callers have addresses of their own, webhooks on this machine, and an explorer that never answers.
pub fn proxied() -> Setup {
    Setup::demo()
        .with("TAXON_TRUSTED_PROXIES", "127.0.0.1")
        .with("TAXON_WEBHOOK_PRIVATE", "1")
        .with("TAXON_EXPLORER_ETHEREUM", "http://127.0.0.1:9")
}

impl Browser {
    pub fn new(taxon: &Taxon, address: &str) -> Self {
        let http = chains::http::client_builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, url: taxon.url.clone(), address: address.to_owned(), cookies: BTreeMap::new() }
    }

    /// Signed in as the owner of this address, by a link that the command line gave out.
    pub async fn signed_in(taxon: &Taxon, address: &str, email: &str) -> Self {
        let mut browser = Self::new(taxon, address);
        let link = link(&taxon.setup, email);
        let page = browser.submit(&link, &link, &[("password", PASSWORD)]).await;
        assert_eq!((page.status, page.location()), (303, "/account"), "{}", page.text);
        browser
    }

    pub async fn operator(taxon: &Taxon, address: &str, email: &str) -> Self {
        let browser = Self::signed_in(taxon, address, email).await;
        taxon.setup.run(&["accounts", "operator", "--yes", email]);
        browser
    }

    /// The same person, at another instance of the service.
    pub fn at(&self, taxon: &Taxon) -> Self {
        Self { cookies: self.cookies.clone(), ..Self::new(taxon, &self.address) }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = self.http.request(method, format!("{}{path}", self.url)).header("x-forwarded-for", &self.address);
        if cookies.is_empty() { request } else { request.header(COOKIE, cookies.join("; ")) }
    }

    pub async fn send(&mut self, request: RequestBuilder) -> Page {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let page =
            Page { status, headers, text: String::from_utf8_lossy(&response.bytes().await.unwrap()).into_owned() };
        for cookie in page.cookies() {
            let (name, value) = cookie.split_once(';').unwrap().0.split_once('=').unwrap();
            if cookie.contains("Max-Age=0;") || cookie.ends_with("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        page
    }

    pub async fn get(&mut self, path: &str) -> Page {
        self.send(self.request(Method::GET, path)).await
    }

    /// The bytes that a page takes on its way to a browser.
    pub async fn transferred(&self, path: &str) -> usize {
        let plain = Self { http: chains::http::client_builder().no_gzip().build().unwrap(), ..self.clone() };
        let response = plain.request(Method::GET, path).header("accept-encoding", "gzip").send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-encoding"]),
            (200, &"gzip".parse().unwrap())
        );
        response.bytes().await.unwrap().len()
    }

    /// Opens a page, fills in the form on it that leads to `action`, and sends it as a browser does.
    pub async fn submit(&mut self, on: &str, action: &str, fields: &[(&str, &str)]) -> Page {
        let page = self.get(on).await;
        let mut all = page.hidden(action);
        for (name, value) in fields {
            all.retain(|(known, _)| known != name);
            all.push(((*name).to_owned(), (*value).to_owned()));
        }
        let fields: Vec<(&str, &str)> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let request = self.encoded(action, &fields);
        self.send(request.header("origin", &self.url).header("sec-fetch-site", "same-origin")).await
    }

    /// As a browser sends the form of this path.
    fn encoded(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let request = self.request(Method::POST, path);
        if path.split('?').next() == Some(WITH_FILE) {
            return in_parts(request, fields, "table.csv");
        }
        request.header("content-type", FORM).body(serde_urlencoded::to_string(fields).unwrap())
    }

    /// The proof that forms of this browser carry now.
    pub async fn csrf(&mut self) -> String {
        let fields = self.get("/sign-up").await.hidden("/sign-up");
        fields.into_iter().find(|(name, _)| name == "csrf").unwrap().1
    }

    /// A form without its page: anything may be in it.
    pub fn form(&self, path: &str, csrf: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        self.encoded(path, &[&[("csrf", csrf)], fields].concat())
    }

    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        let csrf = self.csrf().await;
        self.send(self.form(path, &csrf, fields)).await
    }

    pub async fn sign_in(&mut self, email: &str, password: &str) -> Page {
        self.submit("/sign-in", "/sign-in", &[("email", email), ("password", password)]).await
    }

    pub async fn sign_up(&mut self, email: &str, password: &str) -> Page {
        self.submit("/sign-up", "/sign-up", &[("email", email), ("password", password)]).await
    }

    pub async fn is_signed_in(&mut self) -> bool {
        let page = self.get("/account").await;
        assert!([200, 303].contains(&page.status), "{}", page.text);
        page.status == 200
    }

    /// A key of its own.
    pub async fn new_key(&mut self, name: &str) -> String {
        let page = self.submit("/account", "/account/keys", &[("name", name)]).await;
        page.between("id=\"new-key\">", "<").to_owned()
    }

    /// What the first page shows: how many readings are left, and of how many.
    pub async fn left(&mut self) -> String {
        let page = self.get("/").await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.between("<p class=\"hint\">", " left").to_owned()
    }

    pub async fn read(&mut self, hash: &str) -> Page {
        self.submit("/", "/try", &[("hash", hash)]).await
    }
}

/// A form in parts, of which `file` is a file of this name.
pub fn in_parts(request: RequestBuilder, fields: &[(&str, &str)], file_name: &str) -> RequestBuilder {
    let file_name = file_name.replace('"', "%22");
    let part = |(name, value): &(&str, &str)| {
        let file = if *name == "file" { format!("; filename=\"{file_name}\"") } else { String::new() };
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n")
    };
    let parts: String = fields.iter().map(part).collect();
    let request = request.header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"));
    request.body(format!("{parts}--{BOUNDARY}--\r\n"))
}

impl Page {
    pub fn location(&self) -> &str {
        self.header(LOCATION.as_str())
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn cookies(&self) -> Vec<&str> {
        self.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap()).collect()
    }

    /// The hidden fields of the first form that leads there.
    pub fn hidden(&self, action: &str) -> Vec<(String, String)> {
        let start = format!(" action=\"{action}\">");
        let form = self.text.split_once(&start).unwrap_or_else(|| panic!("no form to {action}: {}", self.text)).1;
        let form = form.split_once("</form>").unwrap().0;
        let fields = form.split("<input type=\"hidden\" name=\"").skip(1);
        let fields: Vec<(String, String)> = fields
            .map(|field| {
                let (name, rest) = field.split_once('"').unwrap();
                let value = rest.split_once("value=\"").unwrap().1.split_once('"').unwrap().0;
                (name.to_owned(), value.replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&"))
            })
            .collect();
        assert!(fields.iter().any(|(name, value)| name == "csrf" && value.len() == 64), "{action} has no proof");
        fields
    }

    pub fn between(&self, start: &str, end: &str) -> &str {
        let rest = self.text.split_once(start).unwrap_or_else(|| panic!("no {start} in {}", self.text)).1;
        rest.split_once(end).unwrap().0
    }

    pub fn has(&self, words: &str) -> bool {
        self.text.contains(words)
    }
}

/// The path of a one-time link for this address.
pub fn link(setup: &Setup, email: &str) -> String {
    let printed = setup.run(&["accounts", "link", email]);
    let path = printed.lines().last().unwrap().to_owned();
    assert!(path.starts_with("/link/"), "{printed}");
    path
}
