#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| taxon::fuzzing::journal_body(bytes));
