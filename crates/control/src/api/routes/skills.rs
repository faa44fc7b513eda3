//! Skills: which there are, which tools have which, and those to decide on.

use super::{ID, TOOL_ID, json};
use crate::access::Action;
use crate::api::input::{MOST_BODY, PUT_SKILL, SET_SKILLS};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{
    Access, Answer, Body, Content, Method, Operation, Parameter, Place, Route, SkillOperation,
};
use crate::api::shape::{Case, Form, Object, Shape, Words, text};
use crate::api::view::{SKILL, SKILL_LIST, SUGGESTION, SUGGESTION_LIST, TOOL_SKILLS};

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
            shape: text(1, 2000, Form::Prose),
            doc: "A question, in plain words.",
        }],
        body: None,
        answers: &[ok("All skills.", &SKILL_LIST, SKILLS_EXAMPLE)],
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
        body: Some(Body {
            shape: Shape::Object(&PUT_SKILL),
            most: MOST_BODY,
            example: r#"{"title":"Robots","keywords":"robot arm gripper joint grasp"}"#,
        }),
        answers: &[
            ok("It is changed.", &SKILL, SKILL_EXAMPLE),
            Answer { status: 201, ..ok("It is new.", &SKILL, SKILL_EXAMPLE) },
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
                shape: Shape::Word(&STATES),
                doc: "Only those in this state; all, unless said otherwise.",
            },
            LIMIT,
            CURSOR,
        ],
        body: None,
        answers: &[ok("A page of suggestions.", &SUGGESTION_LIST, SUGGESTIONS_EXAMPLE)],
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
        answers: &[ok("Its skills.", &TOOL_SKILLS, TOOL_EXAMPLE)],
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
        body: Some(Body {
            shape: Shape::Object(&SET_SKILLS),
            most: MOST_BODY,
            example: r#"{"skill_ids":["issue_tracking","code_management"]}"#,
        }),
        answers: &[ok("Its skills.", &TOOL_SKILLS, TOOL_EXAMPLE)],
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
        answers: &[ok("Its skills.", &TOOL_SKILLS, TOOL_EXAMPLE)],
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
        answers: &[ok("Its skills.", &TOOL_SKILLS, TOOL_EXAMPLE)],
        problems: &[Kind::NoSuchTool, Kind::SetByHand, Kind::StoreUnavailable, Kind::StoreFull],
    },
];

const fn ok(doc: &'static str, object: &'static Object, example: &'static str) -> Answer {
    Answer { status: 200, doc, content: json(object, example), headers: &[] }
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
        answers: const { &[ok("The suggestion.", &SUGGESTION, SUGGESTION_EXAMPLE)] },
        problems: &[Kind::NoSuchSuggestion, Kind::Decided, Kind::StoreUnavailable, Kind::StoreFull],
    }
}

static STATES: Words = Words { known: &["pending", "approved", "rejected"], case: Case::AsWritten };

const SKILL_ID: Parameter = Parameter {
    name: "id",
    place: Place::Path,
    shape: text(1, 64, Form::SkillId),
    doc: "The skill's id: lower case letters, digits and `_`, a letter first.",
};

const SUGGESTION_ID: Parameter =
    Parameter { name: "id", place: Place::Path, shape: ID, doc: "The suggestion's id." };

const SKILLS_EXAMPLE: &str = r#"{"skills":[{"id":"issue_tracking","title":"Issue tracking","keywords":"issue ticket bug board","is_builtin":true,"tools":12,"primary_tools":9,"embedding_updated_at":"2025-01-08T10:00:00Z"}],"total":1}"#;

const SKILL_EXAMPLE: &str = r#"{"id":"robots","title":"Robots","keywords":"robot arm gripper joint grasp","is_builtin":false,"tools":0,"primary_tools":0,"embedding_updated_at":"2025-01-08T10:00:00Z"}"#;

const TOOL_EXAMPLE: &str = r#"{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/create_issue","name":"github-mcp.create_issue","skill_ids":["issue_tracking","code_management"],"primary_skill_id":"issue_tracking","is_classified":true,"skills":[{"id":"issue_tracking","confidence":0.81},{"id":"code_management","confidence":0.42}],"source":"model"}"#;

const SUGGESTION_EXAMPLE: &str = r#"{"id":"b7c1","skill_id":"robots","title":"Robots","keywords":"robot arm gripper","reason":"It moves a robot's arm, and no skill is about that.","tool_id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/grasp","state":"approved","created_at":"2025-01-08T10:00:00Z","decided_at":"2025-01-08T11:00:00Z","decided_by":"admin"}"#;

const SUGGESTIONS_EXAMPLE: &str = r#"{"suggestions":[{"id":"b7c1","skill_id":"robots","title":"Robots","keywords":"robot arm gripper","reason":"It moves a robot's arm, and no skill is about that.","tool_id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/grasp","state":"pending","created_at":"2025-01-08T10:00:00Z","decided_at":null,"decided_by":null}],"next_cursor":null}"#;
