//! The command-line client: reads arguments, shows results, answers elicitations. Pure: no IO.

mod arguments;
mod ask;
mod base64;
mod clean;
mod listing;
mod near;
mod schema;
mod search;
mod show;
mod table;

pub(crate) use arguments::{ArgumentProblem, Pair, build};
pub(crate) use ask::{Dialogue, DialogueStep, PersonQuestion, decline};
pub(crate) use clean::{block, counted, cut, line};
pub(crate) use listing::{find, names};
pub(crate) use near::question as did_you_mean;
pub(crate) use schema::{Schema, lenient, parameters};
pub(crate) use search::{
    ToolQuery, finder, finding, found_json, found_table, found_there, search_tools,
};
pub(crate) use show::{
    Part, SavedFile, call_result, error_json, error_text, progress_line, prompt, prompt_list,
    prompt_schema, resource_list, resource_parts, switched_off, text_of, tool, tool_list, written,
};
pub(crate) use table::columns;
