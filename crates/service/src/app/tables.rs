//! The tables that every interface shows: chains, categories, and what the packs know of an address.

use std::collections::BTreeSet;

use engine::Registry;
use engine::treatments::CategoryRow;
use engine::{Account, Chain, DISCLAIMER, Family, Treatments};
use serde::Serialize;
use utoipa::ToSchema;

use super::Reader;
use crate::error::ApiError;

/// The chains that this instance has an upstream for, sorted by slug.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChainList {
    chains: Vec<ChainRow>,
}

/// One chain that is served.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChainRow {
    /// What `chain` takes and results carry. Common aliases and decimal chain ids are taken too.
    slug: String,
    name: String,
    family: Family,
    /// Null where the family has none.
    #[schema(required)]
    chain_id: Option<u64>,
    native_symbol: String,
    native_decimals: u8,
    /// Where a person can look at a transaction.
    #[schema(required)]
    explorer: Option<String>,
}

impl From<&Chain> for ChainRow {
    fn from(chain: &Chain) -> Self {
        Self {
            slug: chain.slug.clone(),
            name: chain.name.clone(),
            family: chain.family,
            chain_id: chain.chain_id,
            native_symbol: chain.native_symbol.clone(),
            native_decimals: chain.native_decimals,
            explorer: chain.explorer.clone(),
        }
    }
}

/// Every category that this version knows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CategoryList {
    categories: Vec<CategoryRow>,
    /// That this is not tax advice.
    #[schema(value_type = String)]
    notice: &'static str,
}

impl CategoryList {
    pub(crate) fn of(treatments: &Treatments) -> Self {
        Self { categories: treatments.category_rows().collect(), notice: DISCLAIMER }
    }
}

/// What the rule packs know of an address or program.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Known)]
pub(crate) struct KnownAddress {
    /// The address as it is written on its chain.
    address: String,
    /// One row per pack, role and chain; empty when no pack knows it, which says nothing about it.
    known: Vec<KnownRow>,
}

/// One pack's word on an address.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KnownRow {
    /// Slug of the chain; `every` is every EVM chain.
    chain: String,
    /// Display name of the protocol.
    protocol: String,
    /// What the protocol is.
    about: String,
    /// The part that the address plays in it, as the pack calls it.
    role: String,
    /// Name of the pack, as `taxon rules show` takes it.
    pack: String,
    /// Where the addresses were checked.
    links: Vec<String>,
}

/// Symbols of native coins, today's and former ones, in capitals. A chain that nobody has read yet takes no symbol: its coin is a token
/// elsewhere as often as not, such as USDC.
pub(crate) fn coin_symbols(registry: &Registry) -> BTreeSet<String> {
    let symbols = registry.chains().iter().filter(|chain| !chain.documented_only).flat_map(|chain| {
        let former = chain.native_before.as_ref().map(|former| &former.symbol);
        std::iter::once(&chain.native_symbol).chain(former)
    });
    symbols.map(|symbol| symbol.to_ascii_uppercase()).collect()
}

/// Hosts of explorers, with the chain of each.
pub(crate) fn explorer_hosts(registry: &Registry) -> Vec<(String, String)> {
    let hosts = registry.chains().iter().filter_map(|chain| {
        let (_, rest) = chain.explorer.as_ref()?.split_once("://")?;
        Some((rest.split('/').next()?.trim_start_matches("www.").to_owned(), chain.slug.clone()))
    });
    hosts.collect()
}

impl Reader {
    pub(crate) fn chain_list(&self) -> ChainList {
        ChainList { chains: self.served_chains().iter().map(|chain| ChainRow::from(chain.as_ref())).collect() }
    }

    /// On one chain, or on all that the packs name.
    pub(crate) fn lookup(&self, address: Account, chain: Option<&str>) -> Result<KnownAddress, ApiError> {
        let unknown = || ApiError::invalid_request("`chain`: no chain is called that");
        let chain = chain.map(|name| self.registry.find(name).ok_or_else(unknown)).transpose()?;
        let slug = chain.map(|chain| chain.rules_slug());
        let found = self.knowledge.rules.holders_of(&address).into_iter();
        let known = found
            .filter(|(at, _)| slug.is_none_or(|slug| *at == slug || *at == engine::rules::EVERY_CHAIN))
            .filter_map(|(at, holder)| {
                let pack = self.knowledge.rules.packs.get(holder.pack)?;
                Some(KnownRow {
                    chain: at.to_owned(),
                    protocol: pack.name.to_string(),
                    about: pack.file.about.clone(),
                    role: holder.role.to_string(),
                    pack: pack.id.clone(),
                    links: pack.file.links.clone(),
                })
            })
            .collect();
        Ok(KnownAddress { address: address.to_string(), known })
    }
}
