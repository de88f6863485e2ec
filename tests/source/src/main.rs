//! Rules about the source tree, each a test that reads the files.
//!
//! A rule is a function from text to complaints, so that it can be shown to complain; a test applies it to the tree and
//! makes sure that there was something to read.
#![forbid(unsafe_code)]

mod book;
mod capabilities;
mod circles;
mod comparison;
mod decisions;
mod edges;
mod guards;
mod imports;
mod kinds;
mod links;
mod marks;
mod packages;
mod pages;
mod phrases;
mod promises;
mod readme;
mod real_time;
mod references;
mod rooms;
mod sql;
mod tree;
mod type_names;
mod words;

use tree::Tree;

/// What a rule finds wrong with the tree.
type Rule = fn(&Tree) -> Vec<String>;

macro_rules! rules {
    ($(fn $name:ident() = $rule:path;)+) => {
        $(#[test]
        fn $name() {
            holds($rule);
        })+
    };
}

rules! {
    fn dependencies_point_inwards() = edges::dependencies_point_inwards;
    fn the_rooms_of_the_outbox_and_of_the_adapter_stand_as_drawn() = rooms::stand_as_drawn;
    fn nothing_of_the_outbox_names_notifications() = capabilities::are_apart;
    fn no_files_import_each_other() = circles::there_are_none;
    fn every_file_is_a_module() = circles::every_file_is_read;
    fn the_domain_has_no_async_clock_or_randomness() = words::domain_is_pure;
    fn nothing_is_spawned_in_domain_ports_and_app() = words::nothing_is_spawned;
    fn real_time_is_left_to_timers() = real_time::is_left_to_timers;
    fn no_instant_crosses_a_claim_or_a_settlement() = words::no_instant_crosses;
    fn sql_stands_in_sql_files() = sql::stands_in_sql_files;
    fn a_statement_that_ends_or_extends_a_claim_shows_the_claim_id() = sql::shows_the_claim_id;
    fn whoever_writes_a_shard_lease_shows_the_fence() = sql::shows_the_fence;
    fn a_server_tells_the_time_by_its_own_clock() = sql::tells_the_time;
    fn every_package_takes_the_workspace_lints() = words::lints_are_taken;
    fn every_published_package_is_complete() = packages::are_complete;
    fn the_code_of_the_readme_is_compiled() = readme::is_compiled;
    fn the_code_of_the_pages_is_compiled() = readme::pages_are_compiled;
    fn the_figures_of_the_readme_are_measured() = readme::figures_are_measured;
    fn every_decision_is_listed() = decisions::are_listed;
    fn every_link_of_a_document_leads_somewhere() = links::lead_somewhere;
    fn the_book_has_every_page_and_no_link_out_of_it() = book::is_whole;
    fn every_guard_is_listed_with_its_test() = guards::are_listed;
    fn every_kind_of_error_says_what_to_do() = kinds::have_rows;
    fn the_files_and_tests_that_documents_name_exist() = references::exist;
    fn every_promise_is_listed_and_every_test_holds_one() = promises::are_listed;
    fn what_operators_expect_is_shown_by_what_is_there() = comparison::is_shown;
    fn sentences_name_the_actor() = phrases::name_the_actor;
    fn a_name_of_a_type_means_one_thing() = type_names::mean_one_thing;
}

fn holds(rule: Rule) {
    let complaints = rule(&Tree::of_workspace());
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
