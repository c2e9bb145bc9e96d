//! What a factory made, computed from its address and a count.

use alloy_primitives::{Address, B256, FixedBytes};

use super::FaultText;
use crate::rules::file::CreatedRow;

/// Bytes of a salt before the count.
const SALT_PREFIX: usize = 24;

/// Everything that the row says this factory has made on the chain, first to last.
pub fn created(row: &CreatedRow, slug: &str, factory: Address) -> Result<Vec<Address>, FaultText> {
    // A contract counts what it makes from one.
    let counts = 1..=*row.count.get_ref();
    let Some(create3) = &row.create3 else { return Ok(counts.map(|count| factory.create(count)).collect()) };
    let text = create3.init_code_hash.get_ref();
    let hash: B256 = text.parse().map_err(|_| format!("`{text}` is no init code hash"))?;
    let mut made = Vec::new();
    for text in create3.salts.get(slug).ok_or("no salts for this chain")? {
        let text = text.get_ref();
        let prefix: FixedBytes<SALT_PREFIX> =
            text.parse().map_err(|_| format!("`{text}` is not {SALT_PREFIX} bytes"))?;
        made.extend(counts.clone().map(|count| {
            let salt = B256::from_slice(&[prefix.as_slice(), &count.to_be_bytes()].concat());
            factory.create2(salt, hash).create(1)
        }));
    }
    Ok(made)
}
