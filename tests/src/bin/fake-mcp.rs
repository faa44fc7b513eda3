//! A scripted MCP server over stdio that can commit every fault: `fake-mcp --script FILE.json`.

fn main() {
    kit::fake::main();
}
