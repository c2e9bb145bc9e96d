//! A form with a file, read as a stream. Everything but the file is bounded.

use axum::extract::multipart::{Field, Multipart, MultipartError};

use super::frame::PageError;

/// The value of a field. A thousand wallets fit.
const FIELD_BYTES_MAX: usize = 64 * 1024;
const PARTS_MAX: usize = 32;

impl From<MultipartError> for PageError {
    fn from(_: MultipartError) -> Self {
        Self::Form
    }
}

/// The parts of a form, one after the other. What is left of a part is skipped when the next is asked for.
#[derive(Debug)]
pub(crate) struct FormParts {
    form: Multipart,
    count: usize,
}

impl FormParts {
    pub(super) fn new(form: Multipart) -> Self {
        Self { form, count: 0 }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Field<'_>>, PageError> {
        self.count = self.count.saturating_add(1);
        if self.count > PARTS_MAX {
            return Err(PageError::Form);
        }
        Ok(self.form.next_field().await?)
    }
}

/// The whole of a part that is a field.
pub(crate) async fn text(mut field: Field<'_>) -> Result<String, PageError> {
    let mut value = Vec::new();
    while let Some(piece) = field.chunk().await? {
        value.extend_from_slice(&piece);
        if value.len() > FIELD_BYTES_MAX {
            return Err(PageError::Form);
        }
    }
    String::from_utf8(value).map_err(|_| PageError::Form)
}
