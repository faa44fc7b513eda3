// What every JavaScript client does with server-everything, step by step, and what it says about it.
//
// The targets come as JSON on the command line, the report goes to stdout as JSON: one object per
// target, one entry per step. A step that fails leaves { error } and the next one is tried.

// Each limit is for what stands still; whoever starts this knows how much else the machine has to do.
const LIMIT = 1_000 * Number(process.env.PATIENCE ?? 60);
const LIMIT_OF_ALL = 5 * LIMIT;
const WATCHED = "demo://resource/dynamic/text/1";
const HEARD_OF = "demo://resource/dynamic/text/2";

/** Runs all targets one after the other; `connect(target, client)` is the SDK's part. */
export async function main(connect) {
  // stdout is the report; what an SDK has to say goes beside it.
  console.log = console.debug = console.info = console.error;
  const [report, end] = [{}, Date.now() + LIMIT_OF_ALL];
  for (const target of JSON.parse(process.argv[2])) {
    const steps = (report[target.name] = {});
    const limit = Math.min(2 * LIMIT, end - Date.now());
    await within(`all of ${target.name}`, limit, visit(connect, target, steps))
      .catch((error) => (steps.error = String(error)));
  }
  process.stdout.write(JSON.stringify(report) + "\n", () => process.exit(0));
}

/** What the client's user, model and roots answer, and what was asked of them. */
class Host {
  elicited = [];
  visited = [];
  sampled = [];
  rootsAsked = 0;
  updated = [];
  logged = [];
  waiting = [];

  onElicit(params) {
    if (params.mode === "url") {
      this.visited.push(params.url);
      return { action: "accept" };
    }
    this.elicited.push(params);
    return { action: "accept", content: { name: "Ada", check: true, integer: 7 } };
  }

  onSample(params) {
    this.sampled.push(params);
    const content = { type: "text", text: "sampled by the peer" };
    return { model: "peer-model", role: "assistant", stopReason: "endTurn", content };
  }

  onRoots() {
    this.rootsAsked += 1;
    return { roots: [{ uri: "file:///peer/root", name: "peer root" }] };
  }

  onUpdated(params) {
    this.updated.push(params.uri);
    this.waiting.splice(0).forEach((wake) => wake());
  }

  onLog(params) {
    this.logged.push(String(params.data));
    this.waiting.splice(0).forEach((wake) => wake());
  }

  async until(what, state) {
    await within(what, LIMIT, (async () => {
      while (!state()) await new Promise((wake) => this.waiting.push(wake));
    })());
  }
}

async function visit(connect, target, report) {
  const host = new Host();
  const peer = await within("connect", LIMIT, connect(target, host));
  for (const [name, step] of Object.entries(target.fleet ? FLEET : STEPS)) {
    report[name] = await within(name, LIMIT, step(peer, host, target))
      .catch((error) => ({ error: String(error) }));
  }
  await within("close", LIMIT, peer.close()).catch((error) => (report.close = String(error)));
}

const STEPS = {
  async initialize({ client, revision }) {
    const capabilities = Object.keys(client.getServerCapabilities()).sort();
    return { revision: revision(), capabilities, instructions: Boolean(client.getInstructions()) };
  },

  async tools({ client }, _, target) {
    const { tools } = await client.listTools();
    return tools.map((tool) => bare(tool.name, target)).sort();
  },

  async echo(peer, _, target) {
    return text(await tool(peer, target, "echo", { message: "héllo 😀" }));
  },

  async structured(peer, _, target) {
    const result = await tool(peer, target, "get-structured-content", { location: "Chicago" });
    return result.structuredContent;
  },

  async progress(peer, _, target) {
    // What arrives together with the answer comes too late for these SDKs: the last may be missing,
    // and all of it if this process had to wait that long.
    for (const duration of [0.2, 2, 20]) {
      const seen = [];
      const onprogress = ({ progress, total }) => seen.push([progress, total]);
      const result = await tool(peer, target, LONG, { duration, steps: 4 }, { onprogress });
      if (seen.length === 0) continue;
      // Rounds of questions are progress to some SDKs: those have no total.
      const isTold = ([, total]) => total === 4 || target.era !== "modern";
      const first = seen.find(isTold);
      if (!first && duration < 20) continue;
      const told = seen.filter(isTold).map(([progress]) => progress);
      // And what a server tells while a call waits for its client to come again is told to nobody.
      const gaps = target.era === "modern";
      const follows = (progress, at) => (gaps && at > 0 ? progress > told[at - 1] : progress === at + 1);
      const inOrder = told.every(follows) || seen;
      // The server asks for roots once: its next call has no such gap at the beginning.
      if (gaps && inOrder !== true && duration < 20) continue;
      return { first, inOrder, text: text(result).split(" Duration")[0] };
    }
    return "none";
  },

  async cancellation(peer, _, target) {
    let ended;
    // The second if this process had to wait as long as the first takes.
    for (const duration of [1, 10]) {
      const stop = new AbortController();
      const options = { signal: stop.signal, onprogress: () => stop.abort("no longer wanted") };
      const call = tool(peer, target, LONG, { duration, steps: 20 }, options);
      const failed = (error) => (stop.signal.aborted ? "cancelled" : String(error));
      ended = await call.then(() => "with a result", failed);
      if (ended !== "with a result") break;
    }
    return { ended, then: text(await tool(peer, target, "echo", { message: "still here" })) };
  },

  async resources({ client }) {
    const { resources } = await client.listResources();
    return resources.map((resource) => resource.uri).sort();
  },

  async templates({ client }) {
    const { resourceTemplates } = await client.listResourceTemplates();
    return resourceTemplates.map((template) => template.uriTemplate).sort();
  },

  async read({ client }) {
    const [document] = (await client.readResource({ uri: DOCUMENT })).contents;
    const [made] = (await client.readResource({ uri: "demo://resource/dynamic/text/7" })).contents;
    const [blob] = (await client.readResource({ uri: "demo://resource/dynamic/blob/7" })).contents;
    return {
      document: document.text.split("\n")[0],
      made: made.text.split(" created")[0],
      blob: Buffer.from(blob.blob, "base64").toString().split(" created")[0],
    };
  },

  async prompts({ client }) {
    const { prompts } = await client.listPrompts();
    return prompts.map((prompt) => prompt.name).sort();
  },

  async prompt({ client }) {
    const args = { city: "Rome", state: "Lazio" };
    const { messages } = await client.getPrompt({ name: "args-prompt", arguments: args });
    return messages.map((message) => message.content.text);
  },

  async completion({ client }) {
    const prompt = { type: "ref/prompt", name: "completable-prompt" };
    const resource = { type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" };
    const ask = async (ref, name, value, given) => {
      const context = given && { context: { arguments: given } };
      const asked = { ref, argument: { name, value }, ...context };
      return (await client.complete(asked)).completion.values;
    };
    return {
      department: await ask(prompt, "department", "S"),
      name: await ask(prompt, "name", "", { department: "Engineering" }),
      resource: await ask(resource, "resourceId", "7"),
    };
  },

  async elicitation(peer, host, target) {
    const result = await tool(peer, target, "trigger-elicitation-request", {});
    const [asked] = host.elicited;
    const fields = Object.keys(asked.requestedSchema.properties).length;
    const heard = result.content[1].text;
    return { asked: asked.message, fields, times: host.elicited.length, heard };
  },

  async url(peer, host, target) {
    const args = { url: "https://example.org/peer", errorPath: true };
    const ask = () => tool(peer, target, "trigger-url-elicitation", args);
    const refused = await ask().then(() => "not at all", (error) => error.code);
    const heard = text(await ask()).split("\n")[0];
    return { refused, visited: host.visited, heard };
  },

  async sampling(peer, host, target) {
    const args = { prompt: "say something", maxTokens: 50 };
    const result = await tool(peer, target, "trigger-sampling-request", args);
    const [asked] = host.sampled;
    const content = [asked.messages[0].content].flat()[0].text;
    const answered = text(result).includes("sampled by the peer");
    return { asked: content, maxTokens: asked.maxTokens, times: host.sampled.length, answered };
  },

  async roots(peer, host, target) {
    const result = await tool(peer, target, "get-roots-list", {});
    return { listed: text(result).includes("file:///peer/root"), asked: host.rootsAsked > 0 };
  },

  async subscription(peer, host, target) {
    const toggle = async () => text(await tool(peer, target, "toggle-subscriber-updates", {}));
    const stop = await peer.watch(WATCHED);
    const first = await toggle();
    await host.until("an update", () => host.updated.length > 0);
    const second = await toggle();
    await stop();
    const again = async () => {
      const before = host.updated.length;
      await toggle();
      await tool(peer, target, "echo", { message: "a way there and back" });
      await toggle();
      return host.updated.length - before;
    };
    let afterwards = await again();
    // In the stateless era nobody says when the end of a subscription has arrived.
    for (let times = 0; target.era === "modern" && afterwards > 0 && times < 9; times += 1) {
      afterwards = await again();
    }
    return {
      toggled: [first, second].map((words) => words.split(" ")[0]),
      updated: host.updated[0],
      afterwards,
    };
  },

  async logging(peer, host, target) {
    const said = (words) => host.logged.some((line) => line.startsWith(words));
    const heard = (words) => host.until(`the message “${words}”`, () => said(words));
    if (target.era === "modern") return loggingAlone(peer, host, target);
    await peer.client.setLoggingLevel("info");
    await peer.client.subscribeResource({ uri: HEARD_OF });
    await heard(`Received Subscribe Resource request for URI: ${HEARD_OF}`);
    await peer.client.unsubscribeResource({ uri: HEARD_OF });
    await heard(`Received Unsubscribe Resource request: ${HEARD_OF}`);
    return "heard";
  },
};

/** What is done where several servers of both eras are behind one endpoint. */
const FLEET = {
  async revision({ revision }) {
    return revision();
  },

  async servers({ client }, _, target) {
    const { tools } = await client.listTools();
    return [...new Set(tools.map((tool) => tool.name.split(target.separator)[0]))].sort();
  },

  echo: STEPS.echo,
  elicitation: STEPS.elicitation,

  async time(peer, _, target) {
    const args = { source_timezone: "Etc/UTC", time: "12:00", target_timezone: "Asia/Tokyo" };
    const result = await peer.call({ name: `time${target.separator}convert_time`, arguments: args });
    return JSON.parse(text(result)).time_difference;
  },

  async git(peer, _, target) {
    const args = { repo_path: target.fleet };
    const result = await peer.call({ name: `git${target.separator}git_status`, arguments: args });
    return text(result).includes("working tree clean");
  },
};

/** In the stateless era messages come with the requests that have asked for them. */
async function loggingAlone(peer, host, target) {
  // Over Streamable HTTP this server logs on a stream that belongs to no request.
  if (target.name.endsWith("-before-http")) return "nothing to hear";
  const toggle = () => tool(peer, target, "toggle-simulated-logging", {});
  const simulated = () => host.logged.some((line) => /level.message/.test(line));
  // Of another client of the same server it may be on already: then this switches it off.
  for (let times = 0; times < 4 && !simulated(); times += 1) await toggle();
  return simulated() ? "heard" : "not heard";
}

const LONG = "trigger-long-running-operation";
const DOCUMENT = "demo://resource/static/document/features.md";

function tool(peer, target, name, args, options) {
  const asked = { "io.modelcontextprotocol/logLevel": "debug" };
  const meta = target.era === "modern" ? { _meta: asked } : {};
  return peer.call({ name: target.prefix + name, arguments: args, ...meta }, options);
}

function bare(name, target) {
  return name.startsWith(target.prefix) ? name.slice(target.prefix.length) : `not ours: ${name}`;
}

function text(result) {
  return result.content.filter((part) => part.type === "text")[0].text;
}

async function within(what, limit, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`not within ${limit} ms: ${what}`)), limit);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
