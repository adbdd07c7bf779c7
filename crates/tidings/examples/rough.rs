//! temp
use tidings::scenario::{files, run_file, Ground};
fn main() {
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for seed in 0..6 {
        for f in files(std::path::Path::new("examples/gallery/scenarios")).unwrap() {
            let r = rt.block_on(run_file(&f, Ground::Rough(seed)));
            match r { Ok(r) if r.passed() => {}, Ok(r) => println!("seed {seed}: {r}"), Err(e) => println!("seed {seed} {f:?} {e:#}") }
        }
        println!("seed {seed} done");
    }
}
