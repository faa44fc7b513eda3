//! Definitions that wait for a person: listed with their differences, approved and rejected. A resource in one
//! file.

use serde_json::{Value, json};
use trunkline_catalog::pins::{Choice, Decided, Decision, FieldDiff, LineChange};

use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::handle::findings::{self, FindingView};
use crate::api::input::{Declared, ON_CHANGES};
use crate::api::parameters::SERVER_ID;
use crate::api::problem::{Kind, Problem};
use crate::api::query;
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Parameter, Response, Route};
use crate::api::schema::{
    Case, EnumValues, Moment, ObjectSchema, Schema, TextFormat, answer, any_text, count, list,
    request, required, text,
};
use crate::services::{ServerReview, WaitingReview};

const TAG: &str = "Review";

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "listReviews",
        (Method::Get, "/api/v1/reviews"),
        Access::Needs(Action::ReviewDefinitions),
        Handler::Async(|asked| Box::pin(reviews(asked))),
    )
    .about(
        TAG,
        "List the definitions that wait",
        "Tools, prompts, resource templates and instructions of servers that have changed since they were \
         approved, or are new, each with what differs. Characters that cannot be seen are shown by their \
         numbers.",
    )
    .answers(&[Response::json(200, "What waits, by server.", ReviewList::SCHEMA)])
    .fails(&[Kind::StoreUnavailable]),
    Route::new(
        "getWaitingDefinition",
        (Method::Get, "/api/v1/aggregator/servers/{id}/definitions"),
        Access::Needs(Action::ReviewDefinitions),
        Handler::Async(|asked| Box::pin(whole(asked))),
    )
    .parameters(&[
        SERVER_ID,
        Parameter::query("item", ASKED_ITEM, "What waits, as `item` of the list names it. Without it nothing is found."),
        Parameter::query(
            "from",
            Schema::Integer { least: 0, most: 10_000_000 },
            "The first line of the difference that is wanted, counted from 0: `next` of the page before.",
        ),
    ])
    .about(
        TAG,
        "See the whole of a definition that waits",
        "Every line that differs, in pages of 2,000 lines, and the name to approve it by, with the whole hash. What \
         the list shows with `cut` can be approved by that name only.",
    )
    .answers(&[Response::json(200, "The definition.", WholeView::SCHEMA)])
    .fails(&[Kind::NoSuchServer, Kind::NothingWaits, Kind::StoreUnavailable]),
    decision(
        "approveDefinitions",
        "/api/v1/aggregator/servers/{id}/definitions/approve",
        Handler::Async(|asked| Box::pin(decide(asked, Decision::Approve))),
    )
    .about(
        TAG,
        "Approve definitions that wait",
        "Callers are shown them from now on. Each is named with the beginning of the hash that was seen: one that \
         has changed again meanwhile is not approved.",
    )
    .audited("approve-definitions"),
    decision(
        "rejectDefinitions",
        "/api/v1/aggregator/servers/{id}/definitions/reject",
        Handler::Async(|asked| Box::pin(decide(asked, Decision::Reject))),
    )
    .about(
        TAG,
        "Reject definitions that wait",
        "Callers keep what was approved before, or have nothing, until the definition changes again.",
    )
    .audited("reject-definitions"),
];

const fn decision(id: &'static str, path: &'static str, handler: Handler) -> Route {
    Route::new(id, (Method::Post, path), Access::Needs(Action::ReviewDefinitions), handler)
        .parameters(&[SERVER_ID])
        .body(Items::SCHEMA)
        .answers(const { &[Response::json(200, "What was decided.", DecidedList::SCHEMA)] })
        .fails(&[
            Kind::NoSuchServer,
            Kind::NothingWaits,
            Kind::ChangedAgain,
            Kind::NotSeenWhole,
            Kind::StoreUnavailable,
            Kind::StoreFull,
        ])
}

const ITEM: Schema = text(1, 4000, TextFormat::SeenDefinition);
/// Shorter in an address: percent-encoded, a longer one would not fit into the head of a request.
const ASKED_ITEM: Schema = text(1, 500, TextFormat::SeenDefinition);

request! {
    /// The definitions that are decided on.
    #[derive(Debug)]
    struct Items as "ReviewItems" {
        /// Each as `KIND:NAME@HASH`, or `instructions@HASH`: what was seen, with at least eight digits of its hash.
        #[example = ["tool:create_issue@8b1c2d3e4f5a6b7c8b1c2d3e4f5a6b7c"]]
        pub items: Vec<String> => Schema::List { of: &ITEM, least: 1, most: 1000 },
    }
}

impl Items {
    fn read(body: &Declared<'_>) -> Result<Vec<Choice>, Problem> {
        let read: Self = body.read()?;
        Ok(read.items.iter().map(|item| Choice::read(item)).collect())
    }
}

const KINDS: Schema = Schema::Enum(&EnumValues {
    known: &["instructions", "tool", "prompt", "template"],
    case: Case::Sensitive,
});
const REASONS: Schema = Schema::Enum(&EnumValues {
    known: &["changed", "new", "lost", "finding"],
    case: Case::Sensitive,
});
const LINE_CHANGES: Schema = Schema::Enum(&EnumValues {
    known: &["same", "removed", "added", "skipped", "cut"],
    case: Case::Sensitive,
});

const DIFF_LINE: ObjectSchema = ObjectSchema::answer(
    "DiffLine",
    "A line of a difference.",
    &[
        required("change", LINE_CHANGES, "What became of it."),
        required("text", any_text(), "What can be read; empty where lines were skipped or cut."),
        required("pieces", list(&PIECE), "The line in pieces."),
        required(
            "count",
            count(),
            "How many lines were skipped because they are the same, or cut because there are too many; 1 otherwise.",
        ),
    ],
);
const PIECE: Schema = Schema::Object(&ObjectSchema::answer(
    "DiffPiece",
    "Part of a line.",
    &[
        required("text", any_text(), "What can be read."),
        required("changed", Schema::Bool, "It is not on the other side."),
    ],
));
const FIELD_DIFF: ObjectSchema = ObjectSchema::answer(
    "FieldDiff",
    "What has changed in one member of a definition.",
    &[
        required("field", any_text(), "`description`, `inputSchema` …; empty for instructions."),
        required("lines", list(&Schema::Object(&DIFF_LINE)), "Line by line."),
    ],
);
const DIFF: Schema = list(&Schema::Object(&FIELD_DIFF));

answer! {
    /// A definition that waits.
    struct WaitingView<'a> as "WaitingDefinition" {
        /// What it is called in a request to approve or reject it.
        #[example = "tool:create_issue@8b1c2d3e4f5a6b7c8b1c2d3e4f5a6b7c"] pub item: &'a str,
        #[example = "tool"] pub kind: &'a str => KINDS,
        /// As its server calls it; empty for instructions.
        #[example = "create_issue"] pub name: &'a str,
        /// Why it waits.
        #[example = "changed"] pub reason: &'a str => REASONS,
        /// What a finding says.
        pub note: Option<&'a str>,
        /// Of the definition that waits: the SHA-256 of its canonical JSON.
        pub hash: &'a str,
        /// Of the definition that was approved; null if none was.
        pub approved_hash: Option<&'a str>,
        /// The server's name and version when it was approved, and when this one was listed.
        pub approved_version: Option<&'a str>,
        pub version: Option<&'a str>,
        #[example = "2025-01-08T11:00:00Z"] pub noticed_at: i64 as Moment,
        /// Callers are not shown it.
        #[example = true] pub held: bool,
        /// Somebody has rejected it.
        #[example = false] pub rejected: bool,
        /// Only a part is shown here: approving it needs the whole hash.
        #[example = false] pub cut: bool,
        /// What the scanner finds in it, the worst first.
        pub findings: Vec<Value> => list(&FindingView::SCHEMA),
        /// What differs from what was approved; everything, if nothing was.
        pub diff: Value => DIFF,
    }
}

answer! {
    /// A page of a definition that waits.
    struct WholeView as "WholeDefinition" {
        /// `item` has the whole hash.
        pub waiting: Value => WaitingView::SCHEMA,
        /// The first line of the next page; null: this is the last one.
        pub next: Option<usize>,
    }
}

answer! {
    /// What waits of one server.
    struct ReviewView<'a> as "ServerReview" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub server_id: &'a str,
        #[example = "github-mcp"] pub server: &'a str,
        #[example = "hold"] pub on_change: &'a str => ON_CHANGES,
        pub waiting: Vec<Value> => list(&WaitingView::SCHEMA),
    }
}

answer! {
    /// What waits, by server.
    struct ReviewList as "ReviewList" {
        pub servers: Vec<Value> => list(&ReviewView::SCHEMA),
        /// Definitions that nobody has decided on.
        #[example = 1] pub total: usize,
    }
}

answer! {
    /// A definition that was decided on.
    struct DecidedView<'a> as "DecidedDefinition" {
        #[example = "tool"] pub kind: &'a str => KINDS,
        #[example = "create_issue"] pub name: &'a str,
        /// Of what was approved before; null if nothing was.
        pub approved_hash: Option<&'a str>,
        pub hash: &'a str,
    }
}

answer! {
    /// What was decided.
    struct DecidedList<'a> as "DecidedDefinitions" {
        #[example = "approved"] pub decision: &'a str,
        pub decided: Vec<Value> => list(&DecidedView::SCHEMA),
    }
}

async fn reviews(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let found = asked.plane.reviews().list(&asked.principal).await?;
    let all = found.iter().flat_map(|it| &it.waiting);
    let total = all.filter(|it| !it.waiting.is_rejected).count();
    let servers = found.iter().map(review).collect();
    Ok(ApiResponse::json(200, &ReviewList { servers, total }.json()))
}

/// Lines of a page.
const PAGE: usize = 2_000;

async fn whole(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let query = query::whole(asked.route, asked.raw_query())?;
    let Some(item) = query.text("item") else {
        // Every parameter of a query may be left out; then nothing is asked for.
        return Err(Problem::new(Kind::NothingWaits, "no definition was named (`item`)"));
    };
    let from = query.whole("from").and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
    let choice = Choice::read(item);
    let service = asked.plane.reviews();
    let (server, mut found) = service.whole(asked.id(), &choice, &asked.principal).await?;
    let lines: usize = found.diff.iter().map(|field| field.lines.len()).sum();
    let next = Some(from.saturating_add(PAGE)).filter(|next| *next < lines);
    found.diff = page(std::mem::take(&mut found.diff), from);
    let name = found.waiting.definition.whole_item();
    let waiting = waiting(&server.id, &server.name, &found, &name);
    Ok(ApiResponse::json(200, &WholeView { waiting, next }.json()))
}

/// So many lines from this one on, counted through all members.
fn page(fields: Vec<FieldDiff>, from: usize) -> Vec<FieldDiff> {
    let (mut skip, mut left) = (from, PAGE);
    let cut = |FieldDiff { field, lines }: FieldDiff| {
        let before = lines.len();
        let lines: Vec<_> = lines.into_iter().skip(skip).take(left).collect();
        skip = skip.saturating_sub(before);
        left -= lines.len();
        (!lines.is_empty()).then_some(FieldDiff { field, lines })
    };
    fields.into_iter().filter_map(cut).collect()
}

async fn decide(asked: &ApiRequest<'_>, decision: Decision) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let choices = Items::read(&asked.body())?;
    let decided = asked.plane.reviews().decide(asked.id(), decision, &choices, asked.by()).await?;
    let view = |it: &Decided| {
        let Decided { kind, name, before, after } = it;
        DecidedView { kind: kind.word(), name, approved_hash: before.as_deref(), hash: after }
            .json()
    };
    let decided = decided.iter().map(view).collect();
    let answer = DecidedList { decision: decision.done(), decided };
    Ok(ApiResponse::json(200, &answer.json()))
}

fn review(review: &ServerReview) -> Value {
    ReviewView {
        server_id: &review.id,
        server: &review.name,
        on_change: review.on_change.word(),
        waiting: review
            .waiting
            .iter()
            .map(|it| waiting(&review.id, &review.name, it, &it.waiting.definition.item()))
            .collect(),
    }
    .json()
}

fn waiting(id: &str, server: &str, it: &WaitingReview, item: &str) -> Value {
    let definition = &it.waiting.definition;
    WaitingView {
        item,
        kind: definition.kind.word(),
        name: &definition.name,
        reason: it.waiting.reason.word(),
        note: it.waiting.reason.note(),
        hash: &definition.hash,
        approved_hash: it.approved.as_ref().map(|it| it.hash.as_str()),
        approved_version: it.approved_identity.as_deref(),
        version: it.waiting.identity.as_deref(),
        noticed_at: i64::try_from(it.waiting.noticed).unwrap_or(0).saturating_mul(1000),
        held: it.is_held,
        rejected: it.waiting.is_rejected,
        cut: it.is_cut,
        findings: it
            .findings
            .iter()
            .map(|(finding, opinion)| findings::view(id, server, finding, *opinion))
            .collect(),
        diff: it.diff.iter().map(field).collect(),
    }
    .json()
}

fn field(field: &FieldDiff) -> Value {
    let lines = field.lines.iter().map(|line| {
        let (change, count) = match line.change {
            LineChange::Same => ("same", 1),
            LineChange::Removed => ("removed", 1),
            LineChange::Added => ("added", 1),
            LineChange::Skipped(count) => ("skipped", count),
            LineChange::Cut(count) => ("cut", count),
        };
        let pieces =
            line.pieces.iter().map(|(changed, text)| json!({ "text": text, "changed": changed }));
        let pieces: Vec<Value> = pieces.collect();
        json!({ "change": change, "text": line.text(), "pieces": pieces, "count": count })
    });
    json!({ "field": field.field, "lines": lines.collect::<Vec<_>>() })
}
