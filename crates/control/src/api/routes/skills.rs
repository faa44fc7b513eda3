//! Skills: which there are, which tools have which, and those to decide on.

use super::{ID, TOOL_ID};
use crate::access::Action;
use crate::api::input::{MOST_BODY, PutSkill, SetSkills};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{
    Access, Answer, Body, Content, Method, Operation, Parameter, Place, Route, SkillOperation,
};
use crate::api::schema::{Case, EnumValues, Schema, TextFormat, text};
use crate::api::view::{SkillList, SkillView, SuggestionList, SuggestionView, ToolSkillsView};

const TAG: &str = "Search and skills";

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::Skills(SkillOperation::ListSkills),
        method: Method::Get,
        path: "/api/v1/skills",
        access: Access::Needs(Action::ReadSkills),
        tag: TAG,
        summary: "List the skills",
        description: "With how many tools have them. With `query`, those first that it is about.",
        parameters: &[Parameter {
            name: "query",
            place: Place::Query,
            schema: text(1, 2000, TextFormat::Prose),
            doc: "A question, in plain words.",
        }],
        body: None,
        answers: &[ok("All skills.", SkillList::SCHEMA)],
        problems: &[],
    },
    Route {
        operation: Operation::Skills(SkillOperation::PutSkill),
        method: Method::Put,
        path: "/api/v1/skills/{id}",
        access: Access::Needs(Action::EditSkills),
        tag: TAG,
        summary: "Add a skill, or change one",
        description: "Tools are given it by the words of its title and keywords. Tools whose \
                      skills somebody has set keep them.",
        parameters: &[SKILL_ID],
        body: Some(Body { schema: PutSkill::SCHEMA, most: MOST_BODY }),
        answers: &[
            ok("It is changed.", SkillView::SCHEMA),
            Answer { status: 201, ..ok("It is new.", SkillView::SCHEMA) },
        ],
        // An id with a control character is no path at all.
        problems: &[Kind::NoSuchPath, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::Skills(SkillOperation::DeleteSkill),
        method: Method::Delete,
        path: "/api/v1/skills/{id}",
        access: Access::Needs(Action::EditSkills),
        tag: TAG,
        summary: "Remove a skill",
        description: "No tool has it any more, whoever gave it to them.",
        parameters: &[SKILL_ID],
        body: None,
        answers: &[Answer {
            status: 204,
            doc: "It is gone.",
            content: Content::Nothing,
            headers: &[],
        }],
        problems: &[Kind::NoSuchSkill, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::Skills(SkillOperation::ListSuggestions),
        method: Method::Get,
        path: "/api/v1/skills/suggestions",
        access: Access::Needs(Action::EditSkills),
        tag: TAG,
        summary: "List suggested skills",
        description: "Where a language model classifies tools, it may say that none fits.",
        parameters: &[
            Parameter {
                name: "state",
                place: Place::Query,
                schema: Schema::Enum(&STATES),
                doc: "Only those in this state; all, unless said otherwise.",
            },
            LIMIT,
            CURSOR,
        ],
        body: None,
        answers: &[ok("A page of suggestions.", SuggestionList::SCHEMA)],
        problems: &[Kind::StoreUnavailable],
    },
    decision(
        Operation::Skills(SkillOperation::ApproveSuggestion),
        "/api/v1/skills/suggestions/{id}/approve",
        "Approve a suggested skill",
        "It is a skill from now on, and tools are given it.",
    ),
    decision(
        Operation::Skills(SkillOperation::RejectSuggestion),
        "/api/v1/skills/suggestions/{id}/reject",
        "Reject a suggested skill",
        "It is not suggested again.",
    ),
    Route {
        operation: Operation::Skills(SkillOperation::GetToolSkills),
        method: Method::Get,
        path: "/api/v1/tools/{id}/skills",
        access: Access::Needs(Action::ReadSkills),
        tag: TAG,
        summary: "The skills of a tool",
        description: "With how sure each is, and who says so.",
        parameters: &[TOOL_ID],
        body: None,
        answers: &[ok("Its skills.", ToolSkillsView::SCHEMA)],
        problems: &[Kind::NoSuchTool],
    },
    Route {
        operation: Operation::Skills(SkillOperation::SetToolSkills),
        method: Method::Put,
        path: "/api/v1/tools/{id}/skills",
        access: Access::Needs(Action::EditSkills),
        tag: TAG,
        summary: "Say which skills a tool has",
        description: "So it stays, whatever is classified later, until it is said otherwise or \
                      the server is removed.",
        parameters: &[TOOL_ID],
        body: Some(Body { schema: SetSkills::SCHEMA, most: MOST_BODY }),
        answers: &[ok("Its skills.", ToolSkillsView::SCHEMA)],
        problems: &[Kind::NoSuchTool, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::Skills(SkillOperation::ClearToolSkills),
        method: Method::Delete,
        path: "/api/v1/tools/{id}/skills",
        access: Access::Needs(Action::EditSkills),
        tag: TAG,
        summary: "Leave a tool's skills to Trunkline again",
        description: "What somebody has said is forgotten, and the tool is classified.",
        parameters: &[TOOL_ID],
        body: None,
        answers: &[ok("Its skills.", ToolSkillsView::SCHEMA)],
        problems: &[Kind::NoSuchTool, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::Skills(SkillOperation::ClassifyTool),
        method: Method::Post,
        path: "/api/v1/tools/{id}/classify",
        access: Access::Needs(Action::EditSkills),
        tag: TAG,
        summary: "Classify a tool anew",
        description: "Now, whatever was found out before.",
        parameters: &[TOOL_ID],
        body: None,
        answers: &[ok("Its skills.", ToolSkillsView::SCHEMA)],
        problems: &[Kind::NoSuchTool, Kind::SetByHand, Kind::StoreUnavailable, Kind::StoreFull],
    },
];

const fn ok(doc: &'static str, schema: Schema) -> Answer {
    Answer { status: 200, doc, content: Content::Json(schema), headers: &[] }
}

const fn decision(
    operation: Operation,
    path: &'static str,
    summary: &'static str,
    description: &'static str,
) -> Route {
    Route {
        operation,
        method: Method::Post,
        path,
        access: Access::Needs(Action::EditSkills),
        tag: TAG,
        summary,
        description,
        parameters: &[SUGGESTION_ID],
        body: None,
        answers: const { &[ok("The suggestion.", SuggestionView::SCHEMA)] },
        problems: &[Kind::NoSuchSuggestion, Kind::Decided, Kind::StoreUnavailable, Kind::StoreFull],
    }
}

static STATES: EnumValues =
    EnumValues { known: &["pending", "approved", "rejected"], case: Case::Sensitive };

const SKILL_ID: Parameter = Parameter {
    name: "id",
    place: Place::Path,
    schema: text(1, 64, TextFormat::SkillId),
    doc: "The skill's id: lower case letters, digits and `_`, a letter first.",
};

const SUGGESTION_ID: Parameter =
    Parameter { name: "id", place: Place::Path, schema: ID, doc: "The suggestion's id." };
