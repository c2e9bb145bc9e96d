#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chains::fuzzing::chain_file(bytes));
