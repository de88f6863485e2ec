//! Rules about the source tree, each a trial that reads the files.
//!
//! A rule is a function from text to complaints, so that it can be shown to complain; a trial applies it to the tree and
//! makes sure that there was something to read.

mod book;
mod circles;
mod clauses;
mod comparison;
mod decisions;
mod edges;
mod guards;
mod imports;
mod kinds;
mod links;
mod packages;
mod phrases;
mod promises;
mod readme;
mod real_time;
mod references;
mod rooms;
mod sql;
mod tree;
mod words;

use crate::Suite;
use tree::Tree;

/// What a rule finds wrong with the tree.
type Rule = fn(&Tree) -> Vec<String>;

/// Adds the invariants.
pub fn add_to(suite: &mut Suite) {
    let rules: [(&str, Rule); 27] = [
        ("dependencies_point_inwards", edges::dependencies_point_inwards),
        ("the_rooms_of_the_adapter_stand_as_drawn", rooms::stand_as_drawn),
        ("no_files_import_each_other", circles::there_are_none),
        ("every_file_is_a_module", circles::every_file_is_read),
        ("the_domain_has_no_async_clock_or_randomness", words::domain_is_pure),
        ("nothing_is_spawned_in_domain_ports_and_app", words::nothing_is_spawned),
        ("real_time_is_left_to_timers", real_time::is_left_to_timers),
        ("no_instant_crosses_a_claim_or_a_settlement", words::no_instant_crosses),
        ("sql_stands_in_sql_files", sql::stands_in_sql_files),
        ("a_statement_that_ends_or_extends_a_claim_shows_the_claim_id", sql::shows_the_claim_id),
        ("whoever_writes_a_shard_lease_shows_the_fence", sql::shows_the_fence),
        ("a_server_tells_the_time_by_its_own_clock", sql::tells_the_time),
        ("every_package_takes_the_workspace_lints", words::lints_are_taken),
        ("every_published_package_is_complete", packages::are_complete),
        ("the_code_of_the_readme_is_compiled", readme::is_compiled),
        ("the_code_of_the_pages_is_compiled", readme::pages_are_compiled),
        ("the_figures_of_the_readme_are_measured", readme::figures_are_measured),
        ("every_decision_is_listed", decisions::are_listed),
        ("every_link_of_a_document_leads_somewhere", links::lead_somewhere),
        ("the_book_has_every_page_and_no_link_out_of_it", book::is_whole),
        ("the_tests_that_guards_rest_on_exist", guards::tests_exist),
        ("every_kind_of_error_says_what_to_do", kinds::have_rows),
        ("the_files_and_tests_that_documents_name_exist", references::exist),
        ("every_clause_and_scenario_is_listed", clauses::are_all_listed),
        ("every_promise_names_its_test_and_every_test_its_promise", promises::have_tests),
        ("what_operators_expect_is_shown_by_what_is_there", comparison::is_shown),
        ("sentences_name_the_actor", phrases::name_the_actor),
    ];
    for (name, rule) in rules {
        add(suite, name, rule);
    }
}

/// Adds what must hold of the whole suite: the README names what it runs, and it leaves nothing out everywhere.
pub fn add_inventory_to(suite: &mut Suite, whole: impl Fn() -> Suite + Clone + Send + 'static) {
    let covered = whole.clone();
    add(suite, "the_readme_names_every_store_and_strategy", move |tree| {
        let whole = whole();
        readme::names_what_is_run(tree, &whole.report().inventory(), whole.trials())
    });
    add(suite, "every_need_is_had_and_every_case_runs_somewhere", move |_| covered().coverage().gaps());
}

fn add(suite: &mut Suite, name: &str, rule: impl FnOnce(&Tree) -> Vec<String> + Send + 'static) {
    suite.add_trial(&format!("invariants::{name}"), move || {
        let complaints = rule(&Tree::of_workspace());
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    });
}
