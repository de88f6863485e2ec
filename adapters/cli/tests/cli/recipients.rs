use crate::operator::Operator;

fn request(id: u8, email: &str) -> String {
    format!(
        "{{\"id\":\"018f6b2e-0000-7000-8000-0000000000{id:02}\",\"requester\":{{\"type\":\"service\",\"id\":\"shop\"}},\
         \"recipients\":[{{\"email\":\"{email}\"}}],\"channels\":[\"email\"],\"category\":\"marketing\",\
         \"content\":{{\"title\":\"Spring\"}}}}\n"
    )
}

/// What an operator turns off for an address holds however the address is written, and also by the key that `show` prints.
#[test]
fn an_opt_out_holds_however_the_address_is_named() {
    let operator = Operator::with_database();
    let turn_off = |key| {
        let done = operator.run(&["recipient", "preferences", key, "--change", "any/marketing=off"]);
        assert_eq!(done.succeeded(), "any/marketing=off\n");
    };
    turn_off("email:Kim@Example.com");
    turn_off("direct:Lea@example.com||||");
    let all = ["kim@example.com", "Kim@Example.com", "LEA@example.com", "max@example.com"];
    for (id, email) in (1..).zip(all) {
        operator.run_with(&["notify", "-"], request(id, email).as_bytes()).succeeded();
    }
    operator.deliver(&[]).succeeded();
    let sent = operator.lines("out.jsonl");
    assert!(sent.len() == 1 && sent[0].contains("m***@example.com"), "{sent:#?}");
}

#[test]
fn a_name_that_can_have_no_effect_is_refused_or_remarked_on() {
    let operator = Operator::with_database();
    let change = |key| operator.run(&["recipient", "preferences", key, "--change", "email/any=off"]);
    let two = change("direct:ann@example.com|+491|||").failed(1);
    assert!(two.contains("name one, as email:ann@example.com or sms:+491"), "{two}");
    for strange in ["u-6", "phone:+491"] {
        let said = change(strange);
        assert!(
            said.code == Some(0) && said.err.contains(&format!("{strange} is no recipient unless")),
            "{said:?}"
        );
    }
    assert_eq!(change("user:u-6").err, "");

    let address = operator.run(&["recipient", "erase", "email:ann@example.com"]).failed(1);
    assert!(address.contains("names an address") && address.contains("nothing was erased"), "{address}");
    let unknown = operator.run(&["recipient", "erase", "user:never"]);
    assert!(
        unknown.code == Some(0) && unknown.err.contains("nothing was written to user:never"),
        "{unknown:?}"
    );
}

/// Promise: an address that `recipient erase --address` names stays suppressed, and is shown no more
#[test]
fn an_address_that_an_erasure_names_is_left_as_a_hash() {
    let operator = Operator::with_database();
    operator.run(&["suppressions", "add", "email", "Ann@Example.com", "--reason", "bounced"]).succeeded();
    let erase = |address| operator.run(&["recipient", "erase", "user:u-1", "--address", address]);
    let unknown = erase("Ann@example.com").failed(2);
    assert!(unknown.contains("such as email:ann@example.com"), "{unknown}");
    assert!(operator.run(&["suppressions", "list"]).succeeded().contains("ann@example.com"));
    erase("email:Ann@example.com").succeeded();
    let left = operator.run(&["suppressions", "list"]).succeeded();
    assert!(left.contains("(erased)") && !left.to_lowercase().contains("ann@"), "{left}");
    operator.run(&["suppressions", "remove", "email", "ann@example.com"]).succeeded();
}
