//! `answer!`, `request!` and `words!`: each emits all that the API needs of a type from one declaration.
//! Doc comments become descriptions, `#[example = JSON]` becomes the example.

/// An object that Trunkline writes: the struct, its JSON and its schema. A member is one of
///
/// - `pub name: Type,` a field, shown as it is
/// - `pub name: Type as Format,` shown as `Format(value)`, a `Moment` for example
/// - `pub name: Type => schema,` with a narrower schema than its type has
/// - `pub name?: Type,` an `Option` that is left out where it is `None`
/// - `#[hidden] pub name: Type,` a field that is not shown: other members are computed of it
/// - `#[shared] pub name: Type,` whose members (`SharedMembers`) stand here; once in an object
/// - `name: Type = |it| value,` computed; `=> schema` may follow; with `name?:` the value is an `Option`
macro_rules! answer {
    (
        $(#[doc = $doc:tt])* $(#[derive($($derive:ident),+)])?
        $vis:vis struct $name:ident $(<$life:lifetime>)? as $title:literal { $($members:tt)* }
    ) => {
        $crate::api::schema::answer!(
            @member [[$vis] $name [$($life)?] $title [$($doc)*] [$($($derive)+)?] []] [] [] [] $($members)*
        );
    };
    (@member [$vis:tt $name:ident $life:tt $title:literal $doc:tt $derive:tt []]
        [$($field:tt)*] $schemas:tt [$($entry:tt)*]
        #[shared] pub $member:ident: $kind:ty, $($rest:tt)*
    ) => {
        $crate::api::schema::answer!(
            @member [$vis $name $life $title $doc $derive [$kind]]
            [$($field)* pub $member: $kind,] $schemas
            [$($entry)* ($member it [.. it.$member])] $($rest)*
        );
    };
    (@member $head:tt [$($field:tt)*] $schemas:tt $entries:tt
        #[hidden] pub $name:ident: $kind:ty, $($rest:tt)*
    ) => {
        $crate::api::schema::answer!(
            @member $head [$($field)* pub $name: $kind,] $schemas $entries $($rest)*
        );
    };
    (@member $head:tt [$($field:tt)*] [$($schema:tt)*] [$($entry:tt)*]
        $(#[doc = $doc:tt])* $(#[example = $example:tt])?
        pub $name:ident: $kind:ty $(as $format:ident)? $(=> $narrow:expr)?, $($rest:tt)*
    ) => {
        $crate::api::schema::answer!(
            @member $head
            [$($field)* pub $name: $kind,]
            [$($schema)* (true $name [$($doc)*] [$($example)?] [$kind] [$($format)?] [$($narrow)?])]
            [$($entry)* ($name it [&$($format)?(it.$name)])]
            $($rest)*
        );
    };
    (@member $head:tt [$($field:tt)*] [$($schema:tt)*] [$($entry:tt)*]
        $(#[doc = $doc:tt])* $(#[example = $example:tt])?
        pub $name:ident?: $kind:ty $(=> $narrow:expr)?, $($rest:tt)*
    ) => {
        $crate::api::schema::answer!(
            @member $head
            [$($field)* pub $name: Option<$kind>,]
            [$($schema)* (false $name [$($doc)*] [$($example)?] [$kind] [] [$($narrow)?])]
            [$($entry)* ($name it [? &it.$name])]
            $($rest)*
        );
    };
    (@member $head:tt $fields:tt [$($schema:tt)*] [$($entry:tt)*]
        $(#[doc = $doc:tt])* $(#[example = $example:tt])?
        $name:ident: $kind:ty = |$it:ident| $value:expr $(=> $narrow:expr)?, $($rest:tt)*
    ) => {
        $crate::api::schema::answer!(
            @member $head $fields
            [$($schema)* (true $name [$($doc)*] [$($example)?] [$kind] [] [$($narrow)?])]
            [$($entry)* ($name $it [&$value])]
            $($rest)*
        );
    };
    (@member $head:tt $fields:tt [$($schema:tt)*] [$($entry:tt)*]
        $(#[doc = $doc:tt])* $(#[example = $example:tt])?
        $name:ident?: $kind:ty = |$it:ident| $value:expr $(=> $narrow:expr)?, $($rest:tt)*
    ) => {
        $crate::api::schema::answer!(
            @member $head $fields
            [$($schema)* (false $name [$($doc)*] [$($example)?] [$kind] [] [$($narrow)?])]
            [$($entry)* ($name $it [? &$value])]
            $($rest)*
        );
    };
    (@member
        [[$vis:vis] $name:ident [$($life:lifetime)?] $title:literal [$($doc:tt)*] [$($derive:ident)*] $shared:tt]
        [$($field:tt)*]
        [$((
            $is_required:literal $member:ident [$($about:tt)*] [$($example:tt)?]
            $kind:tt $format:tt $narrow:tt
        ))*]
        [$(($shown:ident $it:ident $value:tt))*]
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq $(, $derive)*)]
        $vis struct $name $(<$life>)? {
            $($field)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            $vis const SCHEMA: $crate::api::schema::Schema =
                $crate::api::schema::Schema::Object(&$crate::api::schema::ObjectSchema {
                    shared: $crate::api::schema::answer!(@shared $shared),
                    ..$crate::api::schema::ObjectSchema::answer(
                        $title,
                        $crate::api::schema::words!(@doc $($doc)*),
                        &[$($crate::api::schema::Field {
                            name: stringify!($member),
                            is_required: $is_required,
                            schema: $crate::api::schema::answer!(@schema $kind $format $narrow),
                            doc: $crate::api::schema::words!(@doc $($about)*),
                            example: $crate::api::schema::words!(@example $($example)?),
                        }),*],
                    )
                });

            $vis fn json(&self) -> serde_json::Value {
                // Cannot fail: every key is text, and no member's `Serialize` makes an error.
                serde_json::to_value(self).unwrap_or_default()
            }
        }

        // An object that stands only inside others has no other use of it.
        const _: $(for<$life>)? fn(&$name $(<$life>)?) -> serde_json::Value = |it| it.json();

        impl $(<$life>)? $crate::api::schema::Described for $name $(<$life>)? {
            const SCHEMA: $crate::api::schema::Schema = Self::SCHEMA;
        }

        impl $(<$life>)? serde::Serialize for $name $(<$life>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $({
                    let $it = self;
                    $crate::api::schema::answer!(@entry map $shown $value);
                })*
                map.end()
            }
        }
    };
    (@entry $map:ident $name:ident [.. $value:expr]) => {
        for (name, value) in $crate::api::schema::SharedMembers::members(&$value) {
            $map.serialize_entry(name, &value)?;
        }
    };
    (@entry $map:ident $name:ident [? $value:expr]) => {
        if let Some(value) = $value {
            $map.serialize_entry(stringify!($name), value)?;
        }
    };
    (@entry $map:ident $name:ident [$value:expr]) => {
        $map.serialize_entry(stringify!($name), $value)?;
    };
    (@shared []) => { &[] };
    (@shared [$kind:ty]) => { <$kind as $crate::api::schema::SharedMembers>::FIELDS };
    (@schema $kind:tt $format:tt [$narrow:expr]) => { $narrow };
    (@schema [$kind:ty] [] []) => { <$kind as $crate::api::schema::Described>::SCHEMA };
    (@schema [$kind:ty] [$format:ident] []) => {
        <$format<$kind> as $crate::api::schema::Described>::SCHEMA
    };
}
pub(in crate::api) use answer;

/// An object that Trunkline reads: the schema that bodies are checked by, and the struct that a handler
/// gets. A member is one of
///
/// - `pub name: Type => schema,` required
/// - `pub name?: Type => schema,` an `Option`
/// - `pub name: Type = default => schema,` for what is not there or null
///
/// With `impl Type` instead of `pub struct Type` the struct is one of a room below.
///
/// `as Format` behind the type says how the JSON is read, a `Moment` for example. `#[refused(key: why)]`
/// names keys that do not belong here and what to tell who sends them.
macro_rules! request {
    (
        $(#[doc = $doc:tt])* $(#[derive($($derive:ident),+)])?
        $(#[refused($($key:literal: $why:expr),+ $(,)?)])?
        $vis:vis struct $name:ident as $title:literal { $($members:tt)* }
    ) => {
        $crate::api::schema::request!(
            @member
            [struct [$vis] $name $title [$($doc)*] [$($($derive)+)?] [$($([$key $why])+)?]] [] [] []
            $($members)*
        );
    };
    (
        $(#[doc = $doc:tt])* $(#[refused($($key:literal: $why:expr),+ $(,)?)])?
        impl $name:ident as $title:literal { $($members:tt)* }
    ) => {
        $crate::api::schema::request!(
            @member [impl [pub] $name $title [$($doc)*] [] [$($([$key $why])+)?]] [] [] []
            $($members)*
        );
    };
    (@member $head:tt [$($field:tt)*] [$($schema:tt)*] [$($read:tt)*]
        $(#[doc = $doc:tt])* $(#[example = $example:tt])?
        pub $name:ident?: $kind:ty $(as $format:ident)? => $rule:expr, $($rest:tt)*
    ) => {
        $crate::api::schema::request!(
            @member $head
            [$($field)* pub $name: Option<$kind>,]
            [$($schema)* (false $name [$($doc)*] [$($example)?] $rule)]
            [$($read)* ($name [$kind] [$($format)?] |found| found)]
            $($rest)*
        );
    };
    (@member $head:tt [$($field:tt)*] [$($schema:tt)*] [$($read:tt)*]
        $(#[doc = $doc:tt])* $(#[example = $example:tt])?
        pub $name:ident: $kind:ty = $default:expr => $rule:expr, $($rest:tt)*
    ) => {
        $crate::api::schema::request!(
            @member $head
            [$($field)* pub $name: $kind,]
            [$($schema)* (false $name [$($doc)*] [$($example)?] $rule)]
            [$($read)* ($name [$kind] [] |found| found.unwrap_or_else(|| $default))]
            $($rest)*
        );
    };
    (@member $head:tt [$($field:tt)*] [$($schema:tt)*] [$($read:tt)*]
        $(#[doc = $doc:tt])* $(#[example = $example:tt])?
        pub $name:ident: $kind:ty => $rule:expr, $($rest:tt)*
    ) => {
        $crate::api::schema::request!(
            @member $head
            [$($field)* pub $name: $kind,]
            [$($schema)* (true $name [$($doc)*] [$($example)?] $rule)]
            [$($read)* (
                $name [$kind] []
                |found| found.unwrap_or_else($crate::api::schema::FromJson::absent)
            )]
            $($rest)*
        );
    };
    (@member
        [struct [$vis:vis] $name:ident $title:literal [$($doc:tt)*] [$($derive:ident)*] $refused:tt]
        [$($field:tt)*] $schemas:tt $reads:tt
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Eq $(, $derive)*)]
        $vis struct $name {
            $($field)*
        }

        $crate::api::schema::request!(
            @member [impl [$vis] $name $title [$($doc)*] [] $refused] [] $schemas $reads
        );
    };
    (@member
        [impl [$vis:vis] $name:ident $title:literal [$($doc:tt)*] [] [$([$key:literal $why:expr])*]]
        [$($field:tt)*]
        [$((
            $is_required:literal $member:ident [$($about:tt)*] [$($example:tt)?] $rule:expr
        ))*]
        [$(($read:ident $kind:tt $format:tt |$found:ident| $value:expr))*]
    ) => {
        impl $name {
            $vis const SCHEMA: $crate::api::schema::Schema = $crate::api::schema::Schema::Object(
                <Self as $crate::api::input::RequestBody>::OBJECT,
            );
        }

        impl $crate::api::input::RequestBody for $name {
            const OBJECT: &'static $crate::api::schema::ObjectSchema =
                &$crate::api::schema::ObjectSchema {
                    name: $title,
                    doc: $crate::api::schema::words!(@doc $($doc)*),
                    fields: &[$($crate::api::schema::Field {
                        name: stringify!($member),
                        is_required: $is_required,
                        schema: $rule,
                        doc: $crate::api::schema::words!(@doc $($about)*),
                        example: $crate::api::schema::words!(@example $($example)?),
                    }),*],
                    shared: &[],
                    refused: &[$(($key, $why)),*],
                    unknown_keys: $crate::api::schema::UnknownKeys::Refused,
                };

            fn from_members(members: &$crate::api::input::Members<'_>) -> Self {
                $(let $read = {
                    let $found =
                        $crate::api::schema::request!(@read members $read $kind $format);
                    $value
                };)*
                Self { $($read),* }
            }
        }
    };
    (@read $members:ident $name:ident [$kind:ty] []) => {
        $members.read::<$kind>(stringify!($name))
    };
    (@read $members:ident $name:ident [$kind:ty] [$format:ident]) => {
        $members.read::<$format<$kind>>(stringify!($name)).map(|read| read.0)
    };
}
pub(in crate::api) use request;

/// A closed list of words: the enum, the word of each variant, and the schema.
macro_rules! words {
    (
        $(#[doc = $doc:tt])*
        pub enum $name:ident { $($(#[doc = $about:tt])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $about])* $variant),+
        }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];
            pub const VALUES: $crate::api::schema::EnumValues =
                $crate::api::schema::EnumValues {
                    known: &[$($word),+],
                    case: $crate::api::schema::Case::Sensitive,
                };

            pub const SCHEMA: $crate::api::schema::Schema =
                $crate::api::schema::Schema::Enum(&Self::VALUES);

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl $crate::api::schema::Described for $name {
            const SCHEMA: $crate::api::schema::Schema = Self::SCHEMA;
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
    // For an enum of a room below, whose method gives the word of each variant.
    (for $name:ty, $word_of:ident: $($word:literal),+ $(,)?) => {
        impl $crate::api::schema::Described for $name {
            const SCHEMA: $crate::api::schema::Schema =
                $crate::api::schema::Schema::Enum(&$crate::api::schema::EnumValues {
                    known: &[$($word),+],
                    case: $crate::api::schema::Case::Sensitive,
                });
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.$word_of())
            }
        }
    };
    // Shared by the other two: a description is the doc comment's lines, or the name of a constant.
    (@doc) => { "" };
    (@doc $constant:ident) => { $constant };
    (@doc $($line:literal)+) => { concat!($($line),+).trim_ascii() };
    (@example) => { None };
    (@example $json:tt) => { Some(stringify!($json)) };
}
pub(in crate::api) use words;

#[cfg(test)]
#[expect(unreachable_pub, dead_code, reason = "the macros declare what the API makes public")]
mod tests {
    use serde_json::json;

    use crate::api::fault::RequestFault;
    use crate::api::input::Declared;
    use crate::api::schema::{Moment, Schema, TextFormat, json_schema, text};

    words! {
        pub enum Colour {
            Red = "red",
            Green = "green",
        }
    }

    const SIZE_DOC: &str = "How large.";

    answer! {
        /// A thing
        /// of two lines.
        pub struct Thing<'a> as "Thing" {
            /// What it is called.
            #[example = "hammer"] pub name: &'a str,
            #[hidden] pub weight: u32,
            heavy: bool = |it| it.weight > 9,
            #[doc = SIZE_DOC]
            pub size: Option<u32> => Schema::Nullable(&Schema::Integer { least: 1, most: 3 }),
            pub made_at: i64 as Moment,
            pub note?: &'a str,
            doubled?: u32 = |it| it.size.map(|size| size * 2),
            pub colour: Colour,
        }
    }

    request! {
        /// What to make.
        #[derive(Debug)]
        #[refused("id": "is given by Trunkline")]
        pub struct Make as "Make" {
            /// What it is called.
            pub name: String => text(1, 5, TextFormat::Line),
            pub until?: i64 as Moment => Schema::Nullable(&text(20, 40, TextFormat::Time)),
            pub count: u32 = 7 => Schema::Integer { least: 1, most: 9 },
        }
    }

    #[test]
    fn an_answer_is_written_in_the_order_of_its_members() {
        let thing = Thing {
            name: "saw",
            weight: 10,
            size: None,
            made_at: 0,
            note: None,
            colour: Colour::Green,
        };
        assert_eq!(
            thing.json().to_string(),
            r#"{"name":"saw","heavy":true,"size":null,"made_at":"1970-01-01T00:00:00Z","colour":"green"}"#
        );
        let noted = Thing { note: Some("old"), size: Some(2), ..thing };
        assert_eq!((&noted.json()["note"], &noted.json()["doubled"]), (&json!("old"), &json!(4)));
    }

    #[test]
    fn its_schema_and_example_come_of_the_same_declaration() {
        let Schema::Object(object) = Thing::SCHEMA else { panic!("no object") };
        assert_eq!((object.name, object.doc), ("Thing", "A thing of two lines."));
        let fields: Vec<_> = object.fields.iter().map(|it| (it.name, it.is_required)).collect();
        assert_eq!(
            fields,
            [
                ("name", true),
                ("heavy", true),
                ("size", true),
                ("made_at", true),
                ("note", false),
                ("doubled", false),
                ("colour", true)
            ]
        );
        assert_eq!(object.field("size").unwrap().doc, SIZE_DOC);
        assert_eq!(object.field("name").unwrap().example, Some("\"hammer\""));
        assert_eq!(json_schema(&Colour::SCHEMA)["enum"], json!(["red", "green"]));
        let example = crate::api::schema::example(&Thing::SCHEMA);
        assert_eq!((&example["name"], example.get("note")), (&json!("hammer"), None));
    }

    #[test]
    fn a_request_is_checked_and_read() {
        let read = |json: &str| {
            let content_type = Some(&b"application/json"[..]);
            Declared { content_type, bytes: json.as_bytes() }.read::<Make>()
        };
        let made = Make { name: "saw".to_owned(), until: None, count: 7 };
        assert_eq!(read(r#"{"name":"saw","until":null}"#).unwrap(), made);
        let later = read(r#"{"name":"saw","until":"1970-01-01T00:00:01Z","count":2}"#).unwrap();
        assert_eq!((later.until, later.count), (Some(1000), 2));
        let problem = read(r#"{"id":1,"count":10,"until":7}"#).unwrap_err();
        let messages: Vec<_> =
            problem.errors().iter().map(|RequestFault { message, .. }| message).collect();
        assert_eq!(
            messages,
            [
                "is given by Trunkline",
                "must be a whole number from 1 to 9",
                "must be a string, not a number",
                "is missing"
            ]
        );
    }
}
