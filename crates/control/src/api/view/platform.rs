//! Schemas of what the platform says about itself and about what went wrong.

use super::Status;
use crate::api::schema::{
    Case, Described, EnumValues, ObjectSchema, Schema, any_text, list, optional, required,
};

const OK: EnumValues = EnumValues { known: &["ok"], case: Case::Sensitive };
const READINESS: EnumValues =
    EnumValues { known: &["ready", "starting", "draining"], case: Case::Sensitive };

pub const LIVE: ObjectSchema = ObjectSchema::answer(
    "Liveness",
    "The process is alive.",
    &[required("status", Schema::Enum(&OK), "")],
);

pub const READY: ObjectSchema = ObjectSchema::answer(
    "Readiness",
    "Whether every server has been up or has failed.",
    &[
        required("status", Schema::Enum(&READINESS), ""),
        optional(
            "waiting",
            list(&any_text()),
            "The servers that are waited for; named to those with a token only.",
        ),
    ],
);

const MISTAKE: ObjectSchema = ObjectSchema::answer(
    "Mistake",
    "One thing that is wrong with the request.",
    &[
        optional("pointer", any_text(), "Where in the body (JSON Pointer)."),
        optional("parameter", any_text(), "Which parameter of the query."),
        optional("header", any_text(), "Which header."),
        required("message", any_text(), "What is wrong."),
        optional("hint", any_text(), "What to write instead."),
    ],
);

const ABOUT: ObjectSchema = ObjectSchema::answer(
    "ProblemServer",
    "The server it is about.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), ""),
        required("status", <Status as Described>::SCHEMA, ""),
    ],
);

pub const PROBLEM: ObjectSchema = ObjectSchema::answer(
    "Problem",
    "What went wrong (RFC 9457).",
    &[
        required("type", any_text(), "`urn:trunkline:problem:` and its name."),
        required("title", any_text(), ""),
        required("status", Schema::Integer { least: 400, most: 599 }, ""),
        required("detail", any_text(), "What happened this time."),
        required("hint", any_text(), "What to do."),
        optional("instance", any_text(), "The path of the request."),
        optional("errors", list(&Schema::Object(&MISTAKE)), "Every mistake of the request."),
        optional("server", Schema::Object(&ABOUT), ""),
        optional("error", Schema::AnyObject, "The JSON-RPC error of the server, as it wrote it."),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::fault::{Pointer, RequestFault};
    use crate::api::problem::{About, Kind, Problem};
    use crate::api::view::tests::assert_fits;

    #[test]
    fn problems_have_their_shape() {
        for kind in Kind::ALL {
            let about = About { id: "1".into(), name: "a".into(), status: "ERROR" };
            let problem = Problem::new(kind, "x").server(about).error(b"{\"code\":1}");
            let json = String::from_utf8(problem.json()).unwrap();
            assert_fits(&json, &Schema::Object(&PROBLEM));
        }
        let faults = vec![
            RequestFault::at(&Pointer::root(), "is bad").hint("write it well"),
            RequestFault::parameter("limit", "is bad"),
        ];
        let json = String::from_utf8(Problem::invalid(faults).json()).unwrap();
        assert_fits(&json, &Schema::Object(&PROBLEM));
    }
}
