//! The binary `taxon`.

/// Under load the system's allocator keeps half as much memory again in per-thread arenas (`bench/run soak`).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    taxon::main()
}
