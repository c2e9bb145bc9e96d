//! The binary `taxon`.

/// Under load the system's allocator holds half as much again for threads that asked for it once (`bench/run soak`).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    taxon::main()
}
