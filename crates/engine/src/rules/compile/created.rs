//! What a factory made, computed from its address and a count.

use alloy_primitives::{Address, B256, FixedBytes};

use super::FaultText;
use crate::rules::file::CreatedRow;

/// Bytes of a salt before the count.
const SALT_PREFIX: usize = 24;

/// What one factory has made on one chain, first to last. To compute it takes a hash or two for each contract.
#[derive(Debug)]
pub struct Created {
    factory: Address,
    count: u64,
    create3: Option<Create3>,
}

#[derive(Debug)]
struct Create3 {
    init_code_hash: B256,
    prefixes: Vec<FixedBytes<SALT_PREFIX>>,
}

pub fn created(row: &CreatedRow, slug: &str, factory: Address) -> Result<Created, FaultText> {
    let create3 = row.create3.as_ref().map(|create3| {
        let text = create3.init_code_hash.get_ref();
        let init_code_hash = text.parse().map_err(|_| format!("`{text}` is no init code hash"))?;
        let salts = create3.salts.get(slug).ok_or("no salts for this chain")?;
        let prefix = |text: &String| text.parse().map_err(|_| format!("`{text}` is not {SALT_PREFIX} bytes"));
        let prefixes = salts.iter().map(|text| prefix(text.get_ref())).collect::<Result<_, _>>()?;
        Ok::<_, FaultText>(Create3 { init_code_hash, prefixes })
    });
    Ok(Created { factory, count: *row.count.get_ref(), create3: create3.transpose()? })
}

impl Created {
    pub fn addresses(&self) -> Vec<Address> {
        // A contract counts what it makes from one.
        let counts = 1..=self.count;
        let Some(Create3 { init_code_hash, prefixes }) = &self.create3 else {
            return counts.map(|count| self.factory.create(count)).collect();
        };
        let salts = prefixes.iter().flat_map(|prefix| {
            counts.clone().map(|count| B256::from_slice(&[prefix.as_slice(), &count.to_be_bytes()].concat()))
        });
        salts.map(|salt| self.factory.create2(salt, *init_code_hash).create(1)).collect()
    }
}
