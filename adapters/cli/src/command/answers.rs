use std::io::{self, Write};

use serde_json::{Value, json};

/// What a command says of several things: a line for each as it is done, or one list of all of them at the end.
pub(super) struct ItemAnswers {
    as_json: bool,
    items: Vec<Value>,
}

impl ItemAnswers {
    pub(super) fn new(as_json: bool) -> Self {
        Self { as_json, items: Vec::new() }
    }

    /// Says something of one thing: a line for people, and what stands in the list.
    pub(super) fn say(&mut self, line: &str, item: Value, out: &mut impl Write) -> io::Result<()> {
        match self.as_json {
            true => self.items.push(item),
            false => writeln!(out, "{line}")?,
        }
        Ok(())
    }

    /// Whether nothing but the list is written.
    pub(super) fn is_json(&self) -> bool {
        self.as_json
    }

    /// Takes something into the list.
    pub(super) fn note(&mut self, item: Value) {
        self.items.push(item);
    }

    /// Writes the list, if there is to be one.
    pub(super) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        match self.as_json {
            true => writeln!(out, "{}", json!({"items": self.items, "next": null})),
            false => Ok(()),
        }
    }
}
