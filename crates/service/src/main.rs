//! The binary `taxon`.

fn main() -> std::process::ExitCode {
    taxon::main()
}
