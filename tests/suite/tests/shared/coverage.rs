use claimstream_suite::{Coverage, Need};

#[test]
fn reports_what_is_left_out_and_what_no_backend_runs() {
    let mut coverage = Coverage::default();
    let (shared, server) = (("claim", "shared"), ("scenarios", "on_a_server"));
    coverage.note_run(("sqlite", "one"), &[Need::Claims, Need::Sharing], shared);
    coverage.note_left_out(("sqlite", "one"), &[Need::Claims, Need::Sharing], Need::Server, server);
    coverage.note_left_out(("sqlite", "other"), &[Need::Claims], Need::Sharing, shared);
    coverage.note_left_out(("sqlite", "other"), &[Need::Claims], Need::Server, server);
    let shown = "cases left out, by the need that the backend lacks:\n\
        sqlite | one | server 1\nsqlite | other | sharing 1, server 1\n";
    assert_eq!(coverage.to_string(), shown);
    assert_eq!(coverage.missing_on_stores(), [("sqlite", Need::Server, 1)]);
    let gaps = coverage.gaps();
    assert!(gaps.contains(&"no backend has server".to_owned()), "{gaps:?}");
    assert!(gaps.contains(&"no backend runs scenarios::on_a_server".to_owned()), "{gaps:?}");
    assert!(!gaps.iter().any(|gap| gap.contains("shared") || gap.contains("sharing")), "{gaps:?}");
}
