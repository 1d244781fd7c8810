//! Several writers and readers of one directory.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn readers_see_whole_artifacts_while_writers_replace_them() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("a");
    let factors = ["2.0", "3.0", "5.0"];
    let built: Vec<CompiledProgram> =
        factors.iter().map(|f| pypto::compile(&program("scale", f), &CompileOptions::default()).unwrap()).collect();
    built[0].save(&directory).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = built
            .iter()
            .map(|compiled| {
                let directory = &directory;
                scope.spawn(move || (0..30).for_each(|_| drop(compiled.save(directory).unwrap())))
            })
            .collect();
        let (directory, done) = (&directory, &done);
        for _ in 0..2 {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    // A reader may give up when the directory is replaced faster than it reads; it never sees a mixture.
                    if let Ok(compiled) = CompiledProgram::from_dir(directory) {
                        let results = results(&compiled);
                        let factor = results[0];
                        assert!([2.0, 3.0, 5.0].contains(&factor));
                        assert_eq!(results, [factor, 2.0 * factor, 3.0 * factor, 4.0 * factor]);
                    }
                }
            });
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    CompiledProgram::from_dir(&directory).unwrap();
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "nothing temporary is left");
}
