use std::path::PathBuf;

use claimstream_domain::notification::Channel;
use clap::{Args, Subcommand};

use crate::paging::Paging;

/// What can be done with the templates in the database.
#[derive(Clone, Subcommand)]
pub(crate) enum TemplateCommand {
    /// List the templates in the database
    List(Paging),
    /// Keep the templates of a folder as drafts; nothing is sent before it is published
    Push {
        /// The folder
        #[arg(default_value = "templates")]
        folder: PathBuf,
        /// Only this template; may be given again
        #[arg(long = "only", value_name = "ID")]
        ids: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write the drafts into a folder
    Pull {
        /// The folder
        #[arg(default_value = "templates")]
        folder: PathBuf,
        /// Only this template; may be given again
        #[arg(long = "only", value_name = "ID")]
        ids: Vec<String>,
        /// Overwrite files that differ
        #[arg(long)]
        force: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a push would change; the exit code is 1 if that is anything
    Diff {
        /// The folder
        #[arg(default_value = "templates")]
        folder: PathBuf,
        /// Only this template; may be given again
        #[arg(long = "only", value_name = "ID")]
        ids: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a recipient would read
    Preview(PreviewArguments),
    /// Publish drafts, what others include first; or an older version again
    Publish {
        /// The templates
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        /// All of them
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// Take the newest version back: publish this older one again
        #[arg(long, value_name = "NUMBER", conflicts_with = "all")]
        number: Option<u32>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Args)]
pub(crate) struct PreviewArguments {
    /// The template
    pub(crate) id: String,
    /// The channel
    #[arg(long)]
    pub(crate) channel: Channel,
    /// The recipient's language
    #[arg(long)]
    pub(crate) language: Option<String>,
    /// The value of a variable; may be given again
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) params: Vec<(String, String)>,
    /// What the directory knows of the recipient, as text or JSON; may be given again
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) attributes: Vec<(String, String)>,
    /// Read the template from this folder instead of its draft in the database
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Show a version instead of the draft
    #[arg(long, value_name = "NUMBER", conflicts_with = "folder")]
    pub(crate) number: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}
