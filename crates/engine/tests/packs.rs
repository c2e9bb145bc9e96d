//! Every pack that is embedded says what it claims to: its cases are read as they say.

use engine::{Knowledge, cases};

#[test]
fn every_case_of_every_pack_is_read_as_it_says() {
    let knowledge = Knowledge::embedded().expect("embedded packs load");
    let faults: Vec<String> = cases::check(&knowledge).iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
