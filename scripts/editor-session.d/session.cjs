// Types models into `singlet lsp` by the public client library of the protocol.
const assert = require("node:assert");
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const {
  createProtocolConnection, StreamMessageReader, StreamMessageWriter, InitializeRequest, InitializedNotification,
  DidOpenTextDocumentNotification, DidChangeTextDocumentNotification, DidCloseTextDocumentNotification,
  PublishDiagnosticsNotification, CompletionRequest, HoverRequest, DefinitionRequest, ReferencesRequest, RenameRequest,
  PrepareRenameRequest, DocumentSymbolRequest, CodeActionRequest, ShutdownRequest, ExitNotification,
} = require("vscode-languageserver-protocol/node");

const { SINGLET_BIN } = process.env;
const characters = process.argv[2] === "all" ? Infinity : Number(process.argv[2]);
const SYSTEMS = ["country", "wardrobe", "todo", "ecobid", "booking"];
const LIMIT_MS = 120_000;

let drawn = 7n;
const below = (bound) => {
  drawn = (drawn * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
  return Number((drawn >> 33n) % BigInt(bound));
};
// Places as the protocol counts them: JavaScript counts units of UTF-16 too.
const place = (text, offset) => {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length - 1, character: before.at(-1).length };
};

class Editor {
  constructor() {
    this.server = spawn(SINGLET_BIN, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
    this.ended = new Promise((resolve) => this.server.on("exit", (code, signal) => resolve({ code, signal })));
    this.connection = createProtocolConnection(new StreamMessageReader(this.server.stdout), new StreamMessageWriter(this.server.stdin));
    this.published = new Map();
    this.waiting = [];
    this.connection.onNotification(PublishDiagnosticsNotification.type, (told) => {
      this.published.set(told.uri, told);
      this.waiting = this.waiting.filter((one) => !one(told));
    });
    this.connection.listen();
  }
  async begin() {
    const told = await this.connection.sendRequest(InitializeRequest.type, { processId: process.pid, rootUri: null, capabilities: {} });
    assert.equal(told.capabilities.textDocumentSync.change, 2);
    await this.connection.sendNotification(InitializedNotification.type, {});
  }
  async open(uri, text) {
    this.uri = uri;
    this.text = text;
    this.version = 1;
    await this.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: "yaml", version: 1, text } });
  }
  async replace(start, end, text) {
    const range = { start: place(this.text, start), end: place(this.text, end) };
    this.text = this.text.slice(0, start) + text + this.text.slice(end);
    this.version += 1;
    await this.connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri: this.uri, version: this.version }, contentChanges: [{ range, text }],
    });
  }
  type(text) { return this.replace(this.text.length, this.text.length, text); }
  at(offset) { return { textDocument: { uri: this.uri }, position: place(this.text, offset) }; }
  // The findings of the text as it is.
  findings() {
    const known = this.published.get(this.uri);
    if (known?.version === this.version) return known.diagnostics;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no findings came in time")), LIMIT_MS);
      this.waiting.push((told) => {
        if (told.uri !== this.uri || told.version !== this.version) return false;
        clearTimeout(timer);
        resolve(told.diagnostics);
        return true;
      });
    });
  }
  // Asks everything at a place; whatever is answered, nothing may break.
  async askAll(offset) {
    const at = this.at(offset);
    const range = { start: at.position, end: at.position };
    await this.connection.sendRequest(CompletionRequest.type, at);
    await this.connection.sendRequest(HoverRequest.type, at);
    await this.connection.sendRequest(DefinitionRequest.type, at);
    await this.connection.sendRequest(ReferencesRequest.type, { ...at, context: { includeDeclaration: true } });
    await this.connection.sendRequest(DocumentSymbolRequest.type, { textDocument: at.textDocument });
    await this.connection.sendRequest(CodeActionRequest.type, { textDocument: at.textDocument, range, context: { diagnostics: [] } });
    await this.connection.sendRequest(PrepareRenameRequest.type, at).catch((error) => assert.equal(error.code, -32803, error.message));
  }
  async end() {
    await this.connection.sendRequest(ShutdownRequest.type);
    await this.connection.sendNotification(ExitNotification.type);
    assert.deepEqual(await this.ended, { code: 0, signal: null });
  }
}

// What `check` says of a text, as the protocol would have it.
const checked = (text) => {
  const { stdout, status } = spawnSync(SINGLET_BIN, ["check", "-", "--hints", "--format", "json"], { input: text, encoding: "utf8", maxBuffer: 1 << 28 });
  assert.ok(status === 0 || status === 1, `check ended with ${status}`);
  return JSON.parse(stdout).map((one) => `${one.code} ${one.severity} ${one.line}:${one.column}-${one.end_line}:${one.end_column} ${one.message}`).sort();
};
const WORDS = { 1: "error", 2: "warning", 4: "hint" };
const shown = (text, diagnostics) => {
  const lines = text.split("\n");
  // `check` counts characters, the protocol units of UTF-16.
  const at = ({ line, character }) => `${line + 1}:${[...lines[line].slice(0, character)].length + 1}`;
  return diagnostics.map((one) => `${one.code} ${WORDS[one.severity]} ${at(one.range.start)}-${at(one.range.end)} ${one.message.split("\nhelp: ")[0]}`).sort();
};
const compare = async (editor, where) => {
  assert.deepEqual(shown(editor.text, await editor.findings()), checked(editor.text), where);
};

const typeModel = async (editor, system) => {
  const text = fs.readFileSync(`systems/${system}/model.yaml`, "utf8");
  await editor.open(`file:///typed/${system}/model.yaml`, "");
  let compared = 0, deletions = 0;
  const often = Math.max(1, Math.floor(text.length / 12));
  let next = often;
  while (editor.text.length < text.length) {
    const at = editor.text.length;
    // One character, or the rest of the line.
    const line = text.indexOf("\n", at);
    const end = at < characters ? at + 1 : line < 0 ? text.length : line + 1;
    await editor.type(text.slice(at, end));
    if (below(150) === 0) {
      await editor.askAll(below(editor.text.length + 1));
      await editor.askAll(editor.text.length);
    }
    if (below(100) === 0) {
      // Something is deleted in the midst, looked at, and typed again.
      const start = below(editor.text.length);
      const gone = editor.text.slice(start, start + 1 + below(40));
      await editor.replace(start, start + gone.length, "");
      deletions += 1;
      if (deletions % 8 === 0) {
        await compare(editor, `${system} without ${JSON.stringify(gone)} at ${start}`);
        compared += 1;
      }
      await editor.askAll(start);
      await editor.replace(start, start, gone);
    }
    if (editor.text.length >= next) {
      next += often;
      await compare(editor, `${system} typed up to ${editor.text.length}`);
      compared += 1;
    }
  }
  assert.equal(editor.text, text);
  await compare(editor, `${system}, whole`);
  await editor.connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri: editor.uri } });
  console.log(`ok: ${system}: typed, ${deletions} deletions, findings as check has them at ${compared + 1} places`);
};

const useModel = async (editor) => {
  const text = fs.readFileSync("systems/todo/model.yaml", "utf8");
  await editor.open("file:///used/model.yaml", text);
  const find = (words, within = 0) => {
    assert.ok(editor.text.includes(words), words);
    return editor.text.indexOf(words) + within;
  };
  const request = (type, offset, more = {}) => editor.connection.sendRequest(type, { ...editor.at(offset), ...more });

  const hover = await request(HoverRequest.type, find("  overdueTasks:", 4));
  assert.match(hover.contents.value, /query GSI2/);
  const definition = await request(DefinitionRequest.type, find("get: User", 6));
  assert.equal(editor.text.split("\n")[definition.range.start.line].trim(), "User:");
  const references = await request(ReferencesRequest.type, find("  Task:\n", 3), { context: { includeDeclaration: true } });
  assert.ok(references.length > 10, `${references.length}`);
  const symbols = await editor.connection.sendRequest(DocumentSymbolRequest.type, { textDocument: { uri: editor.uri } });
  assert.ok(symbols.some((symbol) => symbol.name === "entities" && symbol.children.some((child) => child.name === "Task")));

  // A rename leaves a model in which the same is found.
  const before = await editor.findings();
  const renamed = await request(RenameRequest.type, find("      due_date: date?", 8), { newName: "due" });
  const edits = renamed.changes[editor.uri].sort((a, b) => b.range.start.line - a.range.start.line || b.range.start.character - a.range.start.character);
  const starts = editor.text.split("\n").reduce((all, line) => [...all, all.at(-1) + line.length + 1], [0]);
  for (const { range, newText } of edits) {
    const offset = ({ line, character }) => starts[line] + character;
    await editor.replace(offset(range.start), offset(range.end), newText);
  }
  const after = await editor.findings();
  assert.equal(after.length, before.length);
  await compare(editor, "renamed");
  assert.ok(!/\bdue_date\b/.test(editor.text.replace(/\?due_date=|due_date&|sort=due_date/g, "").replace(/&due_from.*/g, "")), "a place was left");
  await assert.rejects(request(RenameRequest.type, find("      due: date?", 7), { newName: "title" }), /already/);

  // A mistake, its quick fix, and it is gone.
  const at = find("title: string 1..200", 7);
  await editor.replace(at, at + 6, "strin");
  const found = (await editor.findings()).find((one) => /strin/.test(one.message));
  const [action] = await editor.connection.sendRequest(CodeActionRequest.type, {
    textDocument: { uri: editor.uri }, range: found.range, context: { diagnostics: [found] },
  });
  assert.equal(action.edit.changes[editor.uri][0].newText, "string");
  await editor.replace(at, at + 5, "string");
  assert.equal((await editor.findings()).length, after.length);

  // Completion in a text that is no YAML at the moment.
  const open = find("where: user_id == caller.id\n    order: -task_id", 7);
  await editor.replace(open, open + "user_id == caller.id".length, 'status == "');
  const offered = await request(CompletionRequest.type, open + 'status == "'.length);
  assert.ok(offered.items.some((item) => item.label === "pending"), JSON.stringify(offered.items.slice(0, 9)));
  console.log(`ok: hover, definition, ${references.length} references, ${edits.length} places renamed, quick fix, completion`);
};

(async () => {
  const editor = new Editor();
  await editor.begin();
  for (const system of SYSTEMS) await typeModel(editor, system);
  await useModel(editor);
  await editor.end();
  console.log("ok: ended");
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
