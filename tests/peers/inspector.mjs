// The MCP Inspector without its browser: `inspector --cli` (one process a request) and `mcpdo`
// (one connection, many commands): node inspector.mjs TARGETS
//
// Targets and report are those of scenario.mjs. What takes many processes is done only for targets
// that say `"deep": true`. A target that says `"asks": true` is asked for its era (`--era auto`).

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";

const INSPECTOR = `${process.env.PEERS}/node_modules/@modelcontextprotocol/inspector/clients`;
// For one process; whoever starts this knows how much else the machine has to do.
const LIMIT = 2_000 * Number(process.env.PATIENCE ?? 60);
const WATCHED = "demo://resource/dynamic/text/1";
const DOCUMENT = "demo://resource/static/document/features.md";

// Nothing of this user's Inspector is read or written, and no daemon of theirs is used.
const home = process.env.HOME;
const env = {
  ...process.env,
  MCP_INSPECTOR_DAEMON_DIR: `${home}/d`,
  MCP_INSPECTOR_DAEMON_TOKEN: "of-the-tests",
  MCP_INSPECTOR_SECRET_STORE: "memory",
  // Much of the time of so short a process is compiling.
  NODE_COMPILE_CACHE: `${process.env.PEERS}/compile-cache`,
};
mkdirSync(env.MCP_INSPECTOR_DAEMON_DIR, { mode: 0o700, recursive: true });

const report = {};
for (const target of JSON.parse(process.argv[2])) {
  const steps = (report[target.name] = {});
  const deep = target.deep ? { cli, mcpdo: commands, elicitation, subscription } : {};
  const alone = { connect, tools, sum, ...deep };
  const fleet = { connect, servers, elicitation, time, git };
  for (const [name, step] of Object.entries(target.fleet ? fleet : alone)) {
    steps[name] = await step(target).catch((error) => ({ error: String(error) }));
  }
  await mcpdo("disconnect", target.name).catch(() => {});
}
await run("mcpdo/build/mcp-bin.js", ["daemon", "stop"]).catch(() => {});
process.stdout.write(JSON.stringify(report) + "\n");

async function connect(target) {
  const era = ["--era", target.asks ? "auto" : target.era];
  return (await mcpdo("connect", "--server", target.name, ...era, ...where(target))).protocolEra;
}

async function tools(target) {
  const names = ({ tools }) => tools.map((tool) => bare(tool.name, target)).sort();
  const both = [inspect(target, "tools/list"), mcpdo(`@${target.name}`, "tools/list")];
  const [cli, mcpdos] = await Promise.all(both);
  return { cli: names(cli), mcpdo: names(mcpdos) };
}

async function sum(target) {
  const name = `${target.prefix}get-sum`;
  const result = await mcpdo(`@${target.name}`, "tools/call", name, "a:=1", "b:=2");
  return result.content[0].text;
}

async function cli(target) {
  const ask = (method, ...options) => inspect(target, method, ...options);
  const echo = ["--tool-name", `${target.prefix}echo`, "--tool-args-json", '{"message":"héllo 😀"}'];
  const rome = ["--prompt-name", "args-prompt", "--prompt-args", "city=Rome", "state=Lazio"];
  const [echoed, resources, document, prompt] = await Promise.all([
    ask("tools/call", ...echo),
    ask("resources/list"),
    ask("resources/read", "--uri", DOCUMENT),
    ask("prompts/get", ...rome),
  ]);
  return {
    echo: echoed.content[0].text,
    resources: resources.resources.map((resource) => resource.uri).sort(),
    document: document.contents[0].text.split("\n")[0],
    prompt: prompt.messages.map((message) => message.content.text),
  };
}

async function commands(target) {
  const ask = (...command) => mcpdo(`@${target.name}`, ...command);
  const complete = ["--complete-arg-name", "department", "--complete-arg-value", "S"];
  const resource = ["--complete-arg-name", "resourceId", "--complete-arg-value", "7"];
  const template = "demo://resource/dynamic/text/{resourceId}";
  const [templates, made, prompts, department, id] = await Promise.all([
    ask("resources/templates/list"),
    ask("resources/read", "demo://resource/dynamic/text/7"),
    ask("prompts/list"),
    ask("prompts/complete", "--complete-ref-type", "ref/prompt", "--complete-ref", "completable-prompt", ...complete),
    ask("prompts/complete", "--complete-ref-type", "ref/resource", "--complete-ref", template, ...resource),
  ]);
  return {
    templates: templates.resourceTemplates.map((one) => one.uriTemplate).sort(),
    made: made.contents[0].text.split(" created")[0],
    prompts: prompts.prompts.map((one) => one.name).sort(),
    completion: { department: department.values, resource: id.values },
  };
}

async function elicitation(target) {
  const name = `${target.prefix}trigger-elicitation-request`;
  const asked = (await mcpdo(`@${target.name}`, "tools/call", name)).elicitationPending;
  const answer = ["name:=Ada", "check:=true", "integer:=7"];
  const result = await mcpdo("elicitation/respond", asked.elicitationId, ...answer);
  const fields = Object.keys(asked.requestedSchema.properties).length;
  return { asked: asked.message, fields, heard: result.content[1].text };
}

/** Which servers there are, where several are behind one endpoint. */
async function servers(target) {
  const names = ({ tools }) => tools.map((tool) => tool.name.split(target.separator)[0]);
  const [cli, mcpdos] = await Promise.all([
    inspect(target, "tools/list"),
    mcpdo(`@${target.name}`, "tools/list"),
  ]);
  return [cli, mcpdos].map((listed) => [...new Set(names(listed))].sort());
}

async function time(target) {
  const name = ["--tool-name", `time${target.separator}convert_time`];
  const args = { source_timezone: "Etc/UTC", time: "12:00", target_timezone: "Asia/Tokyo" };
  const result = await inspect(target, "tools/call", ...name, "--tool-args-json", JSON.stringify(args));
  return JSON.parse(result.content[0].text).time_difference;
}

async function git(target) {
  const name = `git${target.separator}git_status`;
  const path = `repo_path:=${JSON.stringify(target.fleet)}`;
  const result = await mcpdo(`@${target.name}`, "tools/call", name, path);
  return result.content[0].text.includes("working tree clean");
}

/** `resources/subscribe` stays and prints; the updates are switched on and off beside it. */
async function subscription(target) {
  const name = `${target.prefix}toggle-subscriber-updates`;
  const toggle = async () => (await mcpdo(`@${target.name}`, "tools/call", name)).content[0].text;
  const watching = start("mcpdo/build/mcp-bin.js", [
    "--format", "json", `@${target.name}`, "resources/subscribe", WATCHED,
  ]);
  try {
    await watching.says(`"subscribed"`);
    const first = await toggle();
    const [, updated] = await watching.says(/"resources\/updated",\s*"uri": "([^"]*)"/);
    const second = await toggle();
    return { toggled: [first, second].map((words) => words.split(" ")[0]), updated };
  } finally {
    watching.end();
  }
}

function where({ front, url, command, args }) {
  const patient = ["--connect-timeout", String(LIMIT)];
  const there = front === "stdio" ? ["--", command, ...args] : ["--transport", front, "--server-url", url];
  return [...patient, ...there];
}

function bare(name, target) {
  return name.startsWith(target.prefix) ? name.slice(target.prefix.length) : `not ours: ${name}`;
}

async function inspect(target, method, ...options) {
  const era = ["--protocol-era", target.asks ? "auto" : target.era];
  const own = ["--method", method, ...options, "--format", "json", "--quiet", ...era];
  return (await run("cli/build/index.js", [...own, ...where(target)])).result;
}

function mcpdo(...command) {
  return run("mcpdo/build/mcp-bin.js", ["--format", "json", ...command]);
}

/** Runs one program of the Inspector; its stdout is JSON. */
function run(program, args) {
  const { child, said, ended } = start(program, args);
  return ended.then((code) => {
    if (code !== 0) throw new Error(`${args.join(" ")}: exit ${code}: ${said()}`);
    return child.stdoutText.trim() === "" ? undefined : JSON.parse(child.stdoutText);
  });
}

function start(program, args) {
  const child = spawn(process.execPath, [`${INSPECTOR}/${program}`, ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [all, waiting] = ["", []];
  child.stdoutText = "";
  child.stdout.on("data", (bytes) => (child.stdoutText += bytes));
  const heard = (bytes) => {
    all += bytes;
    waiting.splice(0).forEach((wake) => wake());
  };
  child.stdout.on("data", heard);
  child.stderr.on("data", heard);
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  const ended = new Promise((done) => child.on("close", done)).finally(() => {
    clearTimeout(timer);
    waiting.splice(0).forEach((wake) => wake());
  });
  const says = async (words) => {
    for (;;) {
      const found = all.match(words);
      if (found) return found;
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`never ${words}: ${all}`);
      await new Promise((wake) => waiting.push(wake));
    }
  };
  return { child, ended, said: () => all, says, end: () => child.kill() };
}
