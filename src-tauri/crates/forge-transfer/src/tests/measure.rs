use std::time::Instant;

use super::*;

#[tokio::test]
async fn measure() {
    let ends = Ends::empty();
    for number in 0..5000 {
        ends.write(&ends.here, format!("d{}/f{number}", number % 100), format!("{number}\n").repeat(200));
    }
    ends.git(&["add", "-A"]);
    ends.git(&["commit", "-qm", "first"]);
    let mut other = Ends::empty();
    other.here = Tree { store: ends.base().join("here/other-store"), ..ends.here.clone() };
    other.there.side.clone_from(&ends.there.side);
    for (name, ends) in [("first task", &ends), ("second task", &other)] {
        let t = Instant::now();
        ends.send().await;
        eprintln!("{name}: send first {:?}", t.elapsed());
        let t = Instant::now();
        git_at(&ends.there.worktree, &["status"]);
        eprintln!("{name}: git status there {:?}", t.elapsed());
        for round in 0..2 {
            ends.write(&ends.there, "d1/f1", format!("changed {round} {name}\n"));
            git_at(&ends.there.worktree, &["commit", "-qam", "x"]);
            let t = Instant::now();
            ends.fetch().await;
            eprintln!("{name}: fetch {round} {:?}", t.elapsed());
            ends.write(&ends.here, "d1/f2", format!("changed {round} {name}\n"));
            let t = Instant::now();
            ends.send().await;
            eprintln!("{name}: send {round} {:?}", t.elapsed());
        }
        let t = Instant::now();
        ends.send().await;
        eprintln!("{name}: send nothing {:?}", t.elapsed());
        let t = Instant::now();
        ends.fetch().await;
        eprintln!("{name}: fetch nothing {:?}", t.elapsed());
    }
}
