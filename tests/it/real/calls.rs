//! The calls every server gets, directly and behind each gateway, in this order.

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// With a result.
    Well,
    /// With a result whose `isError` is true.
    Badly,
    /// With a JSON-RPC error.
    Refused,
}

/// One row. In arguments, `@FIXED@`, `@WORK@`, `@REPO@` and `@LONG@` are the scene's.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) server: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: &'static str,
    pub(super) ends: Ends,
}

const fn well(server: &'static str, tool: &'static str, arguments: &'static str) -> Call {
    Call { server, tool, arguments, ends: Ends::Well }
}

const fn badly(server: &'static str, tool: &'static str, arguments: &'static str) -> Call {
    Call { server, tool, arguments, ends: Ends::Badly }
}

const fn refused(server: &'static str, tool: &'static str, arguments: &'static str) -> Call {
    Call { server, tool, arguments, ends: Ends::Refused }
}

/// Calls whose answers tell the time: server, tool, arguments, where the time stands.
pub(super) const BY_THE_CLOCK: [(&str, &str, &str, &[&str]); 3] = [
    (
        "time",
        "get_current_time",
        r#"{"timezone":"Etc/UTC"}"#,
        &["/content/0/text", "/structuredContent/datetime", "/structuredContent/day_of_week"],
    ),
    (
        "everything",
        "get-resource-reference",
        r#"{"resourceType":"Text","resourceId":7}"#,
        &["/content/1/resource/text"],
    ),
    (
        "everything",
        "get-resource-reference",
        r#"{"resourceType":"Blob","resourceId":7}"#,
        &["/content/1/resource/blob"],
    ),
];

#[rustfmt::skip]
pub(super) const CALLS: &[Call] = &[
    well("everything", "echo", r#"{"message":"plain"}"#),
    well("everything", "echo", r#"{"message":""}"#),
    well("everything", "echo", "{ \"message\" :\t\"日本語 😀 \u{2028} \u{202e}abc\" }"),
    well("everything", "echo", r#"{"message":"\u00e9\ud83d\ude00\/\b\f\n\r\t\u0000\u001f\""}"#),
    well("everything", "echo", r#"{"message":"lone \ud800 \udc00"}"#),
    well("everything", "echo", r#"{"message":"first","message":"second"}"#),
    well("everything", "echo", r#"{"message":"x","unknown":{"b":1.0,"a":[]},"__proto__":{"y":1}}"#),
    well("everything", "echo", r#"{"message":"@LONG@"}"#),
    badly("everything", "echo", "{}"),
    badly("everything", "echo", r#"{"message":5}"#),
    refused("everything", "echo", "null"),
    refused("everything", "echo", "[]"),
    refused("everything", "echo", r#""text""#),
    well("everything", "get-sum", r#"{"a":1,"b":2}"#),
    well("everything", "get-sum", r#"{"a":0.1,"b":0.2}"#),
    well("everything", "get-sum", r#"{"a":-0,"b":1e-400}"#),
    well("everything", "get-sum", r#"{"a":1e308,"b":1E+308}"#),
    well("everything", "get-sum", r#"{"a":9007199254740993,"b":1E+2}"#),
    badly("everything", "get-sum", r#"{"a":"1","b":2}"#),
    well("everything", "get-tiny-image", "{}"),
    well("everything", "get-annotated-message", r#"{"messageType":"error","includeImage":true}"#),
    well("everything", "get-annotated-message", r#"{"messageType":"success"}"#),
    well("everything", "get-annotated-message", r#"{"messageType":"debug","includeImage":false}"#),
    badly("everything", "get-annotated-message", r#"{"messageType":"none"}"#),
    well("everything", "get-resource-links", "{}"),
    well("everything", "get-resource-links", r#"{"count":10}"#),
    badly("everything", "get-resource-links", r#"{"count":11}"#),
    badly("everything", "get-resource-reference", r#"{"resourceId":-1}"#),
    well("everything", "get-structured-content", r#"{"location":"New York"}"#),
    well("everything", "get-structured-content", r#"{"location":"Chicago"}"#),
    badly("everything", "get-structured-content", r#"{"location":"Atlantis"}"#),
    well("everything", "gzip-file-as-resource", r#"{"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}"#),
    well("everything", "gzip-file-as-resource", r#"{"name":"ü b.gz","data":"data:;base64,AAEC/w==","outputType":"resourceLink"}"#),
    badly("everything", "gzip-file-as-resource", r#"{"name":"c.gz","data":"ftp://example.org/c"}"#),
    well("everything", "trigger-long-running-operation", r#"{"duration":0.2,"steps":2}"#),
    badly("everything", "simulate-research-query", r#"{"topic":"needs a task"}"#),
    // Both go on in the background, and keep the server from ending by itself.
    well("everything", "toggle-simulated-logging", "{}"),
    well("everything", "toggle-subscriber-updates", "{}"),

    well("filesystem", "list_allowed_directories", "{}"),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/plain.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/plain.txt","head":2}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/plain.txt","tail":2}"#),
    badly("filesystem", "read_text_file", r#"{"path":"@FIXED@/plain.txt","head":1,"tail":1}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/empty.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/unicode.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/control.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/not-utf-8.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/large.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/large.txt","tail":3}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/one-line.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@FIXED@/large-unicode.txt"}"#),
    badly("filesystem", "read_text_file", r#"{"path":"@FIXED@/missing.txt"}"#),
    badly("filesystem", "read_text_file", r#"{"path":"/etc/passwd"}"#),
    badly("filesystem", "read_text_file", r#"{"path":["@FIXED@/plain.txt"]}"#),
    refused("filesystem", "read_text_file", "7"),
    well("filesystem", "read_file", r#"{"path":"@FIXED@/unicode.txt"}"#),
    well("filesystem", "read_media_file", r#"{"path":"@FIXED@/dot.png"}"#),
    well("filesystem", "read_media_file", r#"{"path":"@FIXED@/tone.wav"}"#),
    well("filesystem", "read_multiple_files", r#"{"paths":["@FIXED@/plain.txt","@FIXED@/missing.txt","@FIXED@/unicode.txt"]}"#),
    well("filesystem", "list_directory", r#"{"path":"@FIXED@"}"#),
    well("filesystem", "list_directory_with_sizes", r#"{"path":"@FIXED@","sortBy":"size"}"#),
    well("filesystem", "directory_tree", r#"{"path":"@FIXED@/tree"}"#),
    well("filesystem", "directory_tree", r#"{"path":"@FIXED@/tree","excludePatterns":["b"]}"#),
    well("filesystem", "search_files", r#"{"path":"@FIXED@","pattern":"**/*.txt"}"#),
    well("filesystem", "search_files", r#"{"path":"@FIXED@","pattern":"no such file"}"#),
    well("filesystem", "get_file_info", r#"{"path":"@FIXED@/tree/never-read.md"}"#),
    well("filesystem", "edit_file", r#"{"path":"@WORK@/notes.txt","edits":[{"oldText":"second","newText":"zweite ```\nZeile"}],"dryRun":true}"#),
    well("filesystem", "edit_file", r#"{"path":"@WORK@/notes.txt","edits":[{"oldText":"second","newText":"2"}]}"#),
    badly("filesystem", "edit_file", r#"{"path":"@WORK@/notes.txt","edits":[{"oldText":"second","newText":"3"}]}"#),
    well("filesystem", "write_file", r#"{"path":"@WORK@/né\u00e9.txt","content":"\ud83d\ude00\n"}"#),
    well("filesystem", "write_file", r#"{"path":"@WORK@/long.txt","content":"@LONG@"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@WORK@/long.txt"}"#),
    well("filesystem", "create_directory", r#"{"path":"@WORK@/new/deep"}"#),
    well("filesystem", "move_file", r#"{"source":"@WORK@/notes.txt","destination":"@WORK@/new/notes.txt"}"#),
    badly("filesystem", "move_file", r#"{"source":"@WORK@/notes.txt","destination":"@WORK@/new/again.txt"}"#),
    well("filesystem", "read_text_file", r#"{"path":"@WORK@/new/notes.txt"}"#),

    well("memory", "read_graph", "{}"),
    well("memory", "create_entities", r#"{"entities":[{"name":"Zoë","entityType":"person","observations":["likes 日本茶","says \"hi\""]},{"name":"Trunkline","entityType":"program","observations":[]}]}"#),
    well("memory", "create_entities", r#"{"entities":[{"name":"Zoë","entityType":"ghost","observations":[]},{"name":"\ud83d\ude00","entityType":"sign","observations":["\u0000\u001f"]}]}"#),
    well("memory", "create_relations", r#"{"relations":[{"from":"Zoë","to":"Trunkline","relationType":"tests"},{"from":"Zoë","to":"nobody","relationType":"knows"}]}"#),
    well("memory", "add_observations", r#"{"observations":[{"entityName":"Trunkline","contents":["is fast","@LONG@"]}]}"#),
    badly("memory", "add_observations", r#"{"observations":[{"entityName":"nobody","contents":["x"]}]}"#),
    badly("memory", "create_entities", r#"{"entities":7}"#),
    refused("memory", "create_entities", "[]"),
    well("memory", "search_nodes", r#"{"query":"日本"}"#),
    well("memory", "search_nodes", r#"{"query":"no such thing"}"#),
    well("memory", "open_nodes", r#"{"names":["Zoë","\ud83d\ude00","missing"]}"#),
    well("memory", "delete_observations", r#"{"deletions":[{"entityName":"Zoë","observations":["says \"hi\""]}]}"#),
    well("memory", "delete_relations", r#"{"relations":[{"from":"Zoë","to":"nobody","relationType":"knows"}]}"#),
    well("memory", "delete_entities", r#"{"entityNames":["\ud83d\ude00"]}"#),
    well("memory", "read_graph", "{}"),

    well("sequential-thinking", "sequentialthinking", r#"{"thought":"first","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":3}"#),
    well("sequential-thinking", "sequentialthinking", r#"{"thought":"zweiter 🤔 Gedanke","nextThoughtNeeded":"true","thoughtNumber":"2","totalThoughts":3}"#),
    well("sequential-thinking", "sequentialthinking", r#"{"thought":"revised","nextThoughtNeeded":true,"thoughtNumber":3,"totalThoughts":3,"isRevision":true,"revisesThought":1}"#),
    well("sequential-thinking", "sequentialthinking", r#"{"thought":"another way","nextThoughtNeeded":true,"thoughtNumber":9,"totalThoughts":3,"branchFromThought":2,"branchId":"böse \"b\""}"#),
    badly("sequential-thinking", "sequentialthinking", r#"{"thought":"incomplete"}"#),
    badly("sequential-thinking", "sequentialthinking", r#"{"thought":"x","nextThoughtNeeded":true,"thoughtNumber":0,"totalThoughts":1}"#),
    refused("sequential-thinking", "sequentialthinking", r#""think""#),
    well("sequential-thinking", "sequentialthinking", r#"{"thought":"@LONG@","nextThoughtNeeded":false,"thoughtNumber":10,"totalThoughts":10}"#),

    well("time", "convert_time", r#"{"source_timezone":"Europe/Berlin","time":"12:30","target_timezone":"Asia/Kathmandu"}"#),
    well("time", "convert_time", r#"{"source_timezone":"Etc/UTC","time":"23:59","target_timezone":"Pacific/Kiritimati"}"#),
    well("time", "convert_time", r#"{"source_timezone":"America/New_York","time":"00:00","target_timezone":"America/St_Johns"}"#),
    badly("time", "convert_time", r#"{"source_timezone":"Mars/Olympus","time":"12:30","target_timezone":"Etc/UTC"}"#),
    badly("time", "convert_time", r#"{"source_timezone":"Etc/UTC","time":"25:00","target_timezone":"Etc/UTC"}"#),
    badly("time", "convert_time", r#"{"time":"日本"}"#),
    badly("time", "convert_time", "null"),
    refused("time", "convert_time", "[]"),
    badly("time", "get_current_time", r#"{"timezone":""}"#),
    badly("time", "get_current_time", r#"{"timezone":5}"#),
    refused("time", "get_current_time", r#""now""#),

    well("git", "git_status", r#"{"repo_path":"@REPO@"}"#),
    well("git", "git_log", r#"{"repo_path":"@REPO@"}"#),
    well("git", "git_log", r#"{"repo_path":"@REPO@","max_count":1}"#),
    well("git", "git_log", r#"{"repo_path":"@REPO@","start_timestamp":"2024-01-02T00:00:00Z","end_timestamp":"2024-01-02T23:00:00Z"}"#),
    badly("git", "git_log", r#"{"repo_path":"@REPO@","start_timestamp":"--all"}"#),
    well("git", "git_show", r#"{"repo_path":"@REPO@","revision":"HEAD"}"#),
    well("git", "git_show", r#"{"repo_path":"@REPO@","revision":"HEAD~1"}"#),
    well("git", "git_show", r#"{"repo_path":"@REPO@","revision":"v1"}"#),
    well("git", "git_show", r#"{"repo_path":"@REPO@","revision":"v1:directory/unicode.txt"}"#),
    well("git", "git_show", r#"{"repo_path":"@REPO@","revision":"v1:"}"#),
    well("git", "git_show", r#"{"repo_path":"@REPO@","revision":"HEAD:latin-1.txt"}"#),
    badly("git", "git_show", r#"{"repo_path":"@REPO@","revision":"no-such-revision"}"#),
    badly("git", "git_show", r#"{"repo_path":"@REPO@","revision":"--help"}"#),
    badly("git", "git_show", r#"{"repo_path":"/","revision":"HEAD"}"#),
    badly("git", "git_show", "{}"),
    refused("git", "git_show", "[]"),
    well("git", "git_diff", r#"{"repo_path":"@REPO@","target":"HEAD~1"}"#),
    well("git", "git_diff", r#"{"repo_path":"@REPO@","target":"side","context_lines":0}"#),
    badly("git", "git_diff", r#"{"repo_path":"@REPO@","target":"nowhere"}"#),
    well("git", "git_diff_unstaged", r#"{"repo_path":"@REPO@"}"#),
    well("git", "git_diff_unstaged", r#"{"repo_path":"@REPO@","context_lines":0}"#),
    well("git", "git_diff_staged", r#"{"repo_path":"@REPO@"}"#),
    well("git", "git_branch", r#"{"repo_path":"@REPO@","branch_type":"local"}"#),
    well("git", "git_branch", r#"{"repo_path":"@REPO@","branch_type":"all","contains":"v1"}"#),
    well("git", "git_commit", r#"{"repo_path":"@REPO@","message":"fourth: Größe 🎉\n\nbody"}"#),
    badly("git", "git_commit", r#"{"repo_path":"@REPO@","message":"nothing to commit"}"#),
    well("git", "git_add", r#"{"repo_path":"@REPO@","files":["untracked.txt","numbers.txt"]}"#),
    badly("git", "git_add", r#"{"repo_path":"@REPO@","files":["../notes.txt"]}"#),
    well("git", "git_reset", r#"{"repo_path":"@REPO@"}"#),
    well("git", "git_create_branch", r#"{"repo_path":"@REPO@","branch_name":"zweig-ü","base_branch":"side"}"#),
    badly("git", "git_create_branch", r#"{"repo_path":"@REPO@","branch_name":"side"}"#),
    well("git", "git_checkout", r#"{"repo_path":"@REPO@","branch_name":"main"}"#),
    badly("git", "git_checkout", r#"{"repo_path":"@REPO@","branch_name":"no-such-branch"}"#),
    well("git", "git_log", r#"{"repo_path":"@REPO@","max_count":2}"#),
];
