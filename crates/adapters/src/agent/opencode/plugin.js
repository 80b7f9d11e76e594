// Asks warp before OpenCode runs a tool, and tells it afterwards. It needs nothing but what the client itself brings.
import { spawn } from "node:child_process";

const { WARP_HOOK_PROGRAM: program, WARP_RETRIES: where } = process.env;
const retries = where === "stderr" ? process.stderr : process.stdout;

// Tools under the names and with the fields that warp's hooks read.
const tool = (name, input) => {
  const file = { ...input, file_path: input.filePath };
  switch (name) {
    case "bash": return ["Bash", input];
    case "write": return ["Write", file];
    case "edit": return ["Edit", { ...file, old_string: input.oldString, new_string: input.newString }];
    case "apply_patch": case "patch": return ["apply_patch", { ...input, command: input.patchText }];
    case "read": return ["Read", file];
    case "plan_enter": case "plan_exit": return [name, input];
    // A tool of an MCP server: `server_tool`.
    default: return [name.replace(/^([^_]+)_(.+)$/, "mcp__$1__$2"), input];
  }
};

const ask = (event, input) => new Promise((answer) => {
  let out = "", err = "";
  const child = spawn(program, ["hook", event], { stdio: ["pipe", "pipe", "pipe"] });
  child.on("error", (error) => answer({ code: 2, out, err: `warp's hook cannot be asked: ${error.message}` }));
  child.on("close", (code) => answer({ code, out, err }));
  child.stdout.on("data", (data) => { out += data; });
  child.stderr.on("data", (data) => { err += data; });
  // A hook that does not read to the end has had enough.
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(input));
});

export const Warp = async ({ directory }) => {
  const told = (event, { tool: name, sessionID }, args, more) => {
    const [tool_name, tool_input] = tool(name, args ?? {});
    return { hook_event_name: event, session_id: sessionID, cwd: directory, tool_name, tool_input, ...more };
  };
  const context = (out) => {
    try { return JSON.parse(out).hookSpecificOutput?.additionalContext; } catch { return undefined; }
  };
  return {
    // The brief is told to whoever sums the conversation up.
    "experimental.session.compacting": async ({ sessionID }, output) => {
      const event = { hook_event_name: "SessionStart", source: "compact", session_id: sessionID, cwd: directory };
      const brief = context((await ask("compacted", event)).out);
      if (brief) output.context.push(`The summary must repeat this brief word for word:\n\n${brief}`);
    },
    // The client prints nothing about retries, so this does, among its own lines or beside a protocol.
    event: async ({ event }) => {
      const { sessionID, status } = event.properties ?? {};
      if (event.type !== "session.status" || status?.type !== "retry") return;
      const { attempt, message } = status;
      retries.write(`${JSON.stringify({ type: "warp_retry", sessionID, attempt, message })}\n`);
    },
    "tool.execute.before": async (input, output) => {
      const { code, err } = await ask("pre-tool-use", told("PreToolUse", input, output.args));
      // Only a clear yes lets it run.
      if (code !== 0) throw new Error(`PreToolUse: ${err.trim() || `the hook ended with ${code}`}`);
    },
    "tool.execute.after": async (input, output) => {
      const response = { tool_response: { stdout: String(output.output ?? "") } };
      const { out } = await ask("post-tool-use", told("PostToolUse", input, input.args, response));
      const advice = context(out);
      if (advice) output.output = `${output.output ?? ""}\n\n${advice}`;
    },
  };
};
