//! A form with a file (`multipart/form-data`, RFC 7578), read as a stream. Of a part no more than a piece is held, and everything but the file is bounded.

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use futures_util::{Stream, StreamExt as _, stream};
use memchr::memmem;

use super::frame::PageError;

/// RFC 2046 allows no more.
const BOUNDARY_CHARS_MAX: usize = 70;
/// Headers of one part; browsers send two, of which the longer has the name of the file.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// The value of a field. A thousand wallets fit.
const FIELD_BYTES_MAX: usize = 64 * 1024;
const PARTS_MAX: usize = 32;
/// What is read of a file that was refused, so that the browser finishes sending and shows the answer.
const SKIPPED_BYTES_MAX: usize = 256 << 20;

const HEAD_END: &[u8] = b"\r\n\r\n";
/// Follows the last delimiter.
const FORM_END: &[u8] = b"--";

/// The body broke off, or is no form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BrokenForm;

impl From<BrokenForm> for PageError {
    fn from(BrokenForm: BrokenForm) -> Self {
        Self::Form
    }
}

/// The parts of a form, one after the other. Each is read to its end before the next begins.
#[derive(Debug)]
pub(crate) struct FormParts {
    body: BodyDataStream,
    /// Received and not yet handed on.
    held: Vec<u8>,
    /// What ends each part: a line end, two dashes and the boundary.
    delimiter: Vec<u8>,
    count: usize,
    is_in_part: bool,
}

/// What a part says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PartHead {
    pub(crate) name: String,
    /// Of a file; empty where none was chosen.
    pub(crate) file_name: Option<String>,
}

impl FormParts {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Result<Self, BrokenForm> {
        let boundary = boundary(headers).ok_or(BrokenForm)?;
        // The first delimiter begins the body, without the line end that the others have.
        let (held, is_in_part) = (b"\r\n".to_vec(), true);
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        Ok(Self { body: body.into_data_stream(), held, delimiter, count: 0, is_in_part })
    }

    /// The next part, after the one before was read.
    pub(crate) async fn next(&mut self) -> Result<Option<PartHead>, BrokenForm> {
        // Nothing may stand before the first part, and nothing may be left of the one before.
        if self.is_in_part && self.piece().await?.is_some() {
            return Err(BrokenForm);
        }
        while self.held.len() < FORM_END.len() {
            self.receive().await?;
        }
        if self.held.starts_with(FORM_END) {
            return Ok(None);
        }
        if !self.held.starts_with(b"\r\n") {
            return Err(BrokenForm);
        }
        let end = loop {
            let found = memmem::find(&self.held, HEAD_END);
            match found {
                Some(at) if at <= HEAD_BYTES_MAX => break at,
                None if self.held.len() <= HEAD_BYTES_MAX => self.receive().await?,
                _ => return Err(BrokenForm),
            }
        };
        let content = self.held.split_off(end.saturating_add(HEAD_END.len()));
        let head = std::mem::replace(&mut self.held, content);
        self.count = self.count.saturating_add(1);
        self.is_in_part = true;
        if self.count > PARTS_MAX {
            return Err(BrokenForm);
        }
        part_head(&head).ok_or(BrokenForm).map(Some)
    }

    /// The whole of a part that is a field.
    pub(crate) async fn text(&mut self) -> Result<String, BrokenForm> {
        let mut value = Vec::new();
        while let Some(piece) = self.piece().await? {
            value.extend(piece);
            if value.len() > FIELD_BYTES_MAX {
                return Err(BrokenForm);
            }
        }
        String::from_utf8(value).map_err(|_| BrokenForm)
    }

    /// The content of a part that is a file, piece by piece.
    pub(crate) fn pieces(&mut self) -> impl Stream<Item = Result<Vec<u8>, BrokenForm>> {
        stream::unfold(self, async |parts| parts.piece().await.transpose().map(|piece| (piece, parts)))
    }

    /// What nobody wants of a part.
    pub(crate) async fn skip(&mut self) -> Result<(), BrokenForm> {
        let mut skipped = 0_usize;
        while self.is_in_part {
            let piece = self.piece().await?;
            skipped = skipped.saturating_add(piece.map_or(0, |piece| piece.len()));
            if skipped > SKIPPED_BYTES_MAX {
                return Err(BrokenForm);
            }
        }
        Ok(())
    }

    /// The next piece of the part, never empty; `None` once at its end.
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, BrokenForm> {
        if !self.is_in_part {
            return Ok(None);
        }
        loop {
            let found = memmem::find(&self.held, &self.delimiter);
            // The delimiter may have begun in the last bytes.
            let undecided = self.delimiter.len().saturating_sub(1);
            let length = found.unwrap_or_else(|| self.held.len().saturating_sub(undecided));
            if length > 0 {
                let rest = self.held.split_off(length);
                return Ok(Some(std::mem::replace(&mut self.held, rest)));
            }
            if found.is_some() {
                self.held.drain(..self.delimiter.len());
                self.is_in_part = false;
                return Ok(None);
            }
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> Result<(), BrokenForm> {
        match self.body.next().await {
            Some(Ok(bytes)) => {
                self.held.extend_from_slice(&bytes);
                Ok(())
            }
            Some(Err(_)) | None => Err(BrokenForm),
        }
    }
}

fn boundary(headers: &HeaderMap) -> Option<&str> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let (kind, parameters) = kind.split_once(';')?;
    let is_form = kind.trim().eq_ignore_ascii_case("multipart/form-data");
    let named = parameters.split(';').filter_map(|parameter| parameter.trim().split_once('='));
    let (_, boundary) = named.filter(|_| is_form).find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    let boundary = boundary.trim_matches('"');
    let is_short = (1..=BOUNDARY_CHARS_MAX).contains(&boundary.len());
    (is_short && boundary.bytes().all(|byte| byte.is_ascii_graphic())).then_some(boundary)
}

/// From the header `Content-Disposition: form-data; name="file"; filename="a.csv"`, quoted as browsers do.
fn part_head(head: &[u8]) -> Option<PartHead> {
    let head = String::from_utf8_lossy(head);
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, disposition) =
        lines.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"))?;
    let mut rest = disposition.trim().strip_prefix("form-data")?;
    let mut found = PartHead::default();
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"')?;
        // The three characters that browsers escape.
        let value = value.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n");
        match name.trim_start_matches([';', ' ']) {
            "name" => found.name = value,
            "filename" => found.file_name = Some(value),
            _ => {}
        }
        rest = after;
    }
    (!found.name.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use proptest::prelude::*;

    use super::*;

    /// As Chromium sends it, but for the boundary, which is shorter.
    const FORM: &str = "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\nproof\r\n\
        --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a %22b%22.csv\"\r\nContent-Type: text/csv\r\n\r\nhash\r\n--y\r\n-\r\n\r\n\
        --x\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--x--\r\n";

    fn parts(pieces: Vec<Vec<u8>>) -> FormParts {
        let pieces = pieces.into_iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "multipart/form-data; boundary=x".parse().unwrap());
        FormParts::new(&headers, Body::from_stream(stream::iter(pieces))).unwrap()
    }

    /// Name, file name and value of each part.
    async fn all(mut parts: FormParts) -> Result<Vec<(String, Option<String>, String)>, BrokenForm> {
        let mut found = Vec::new();
        while let Some(head) = parts.next().await? {
            found.push((head.name, head.file_name, parts.text().await?));
        }
        Ok(found)
    }

    fn read(pieces: Vec<Vec<u8>>) -> Result<Vec<(String, Option<String>, String)>, BrokenForm> {
        futures_util::FutureExt::now_or_never(all(parts(pieces))).unwrap()
    }

    #[test]
    fn fields_and_a_file_with_dashes_in_it() {
        let found = read(vec![FORM.into()]).unwrap();
        let expected =
            [("csrf", None, "proof"), ("file", Some("a \"b\".csv"), "hash\r\n--y\r\n-\r\n"), ("empty", None, "")];
        assert_eq!(found, expected.map(|(name, file, value)| (name.into(), file.map(str::to_owned), value.into())));
    }

    #[test]
    fn what_is_no_form_is_refused() {
        let field = |name: &str, value: &str| {
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let many = field("a", "").repeat(PARTS_MAX + 1) + "--x--";
        for (what, form) in [
            ("nothing", String::new()),
            ("words before it", format!("words\r\n{FORM}")),
            ("no end", field("a", "1")),
            ("another boundary", FORM.replace("--x", "--z")),
            ("words after a delimiter", FORM.replace("--x\r\n", "--x words\r\n")),
            ("a part without a name", "--x\r\n\r\n1\r\n--x--".to_owned()),
            ("a head without an end", format!("--x\r\n{}", "a".repeat(HEAD_BYTES_MAX * 2))),
            ("a head that is too long", format!("--x\r\n{}\r\n\r\n\r\n--x--", "a".repeat(HEAD_BYTES_MAX))),
            ("a value that is too long", field("a", &"1".repeat(FIELD_BYTES_MAX + 1)) + "--x--"),
            ("too many parts", many),
        ] {
            assert_eq!(read(vec![form.into()]), Err(BrokenForm), "{what}");
        }
        assert_eq!(read(vec![(field("a", &"1".repeat(FIELD_BYTES_MAX)) + "--x--").into()]).unwrap().len(), 1);
        for kind in
            ["text/plain", "multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=x"]
        {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
            assert!(FormParts::new(&headers, Body::empty()).is_err(), "{kind}");
        }
    }

    proptest! {
        /// Wherever the network cuts it, a form says the same.
        #[test]
        fn pieces_of_any_length_say_the_same(lengths in prop::collection::vec(1_usize..40, 1..80)) {
            let mut rest = FORM.as_bytes();
            let mut pieces = Vec::new();
            for length in lengths.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at(rest.len().min(*length));
                pieces.push(piece.to_vec());
                rest = after;
            }
            prop_assert_eq!(read(pieces), read(vec![FORM.into()]));
        }

        #[test]
        fn no_bytes_are_too_odd(noise in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(vec![b"--x\r\nContent-Disposition: form-data; name=\"a".to_vec(), noise]);
        }
    }
}
