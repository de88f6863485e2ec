use claimstream_suite::{Case, Need, cases};

async fn alone(_: ()) {}
async fn shared(_: ()) {}

const CASES: &[Case<()>] = cases!["a_file" needs [Claims]: alone, shared needs [Sharing, Server]];

#[test]
fn a_case_needs_what_its_list_needs_and_what_it_says_itself() {
    let [alone, shared] = CASES else { panic!("two cases") };
    assert_eq!((alone.topic, alone.name), ("a_file", "alone"));
    assert_eq!(alone.lacks(&[Need::Claims]), None);
    assert_eq!(alone.lacks(&[Need::Sharing]), Some(Need::Claims));
    assert_eq!(shared.lacks(&[Need::Claims, Need::Server]), Some(Need::Sharing));
    assert_eq!(shared.lacks(&[Need::Server, Need::Sharing, Need::Claims]), None);
}
