// Scrolls a list of very many rows from its beginning to its end and back to the middle, and says what the page took: the most memory, and
// the longest task. `scripts/console-browser rows 1000000` runs it.
//
// The browser is spoken to through a pipe and not by playwright: that has the page keep what it was answered, up to 200 MB of it, for who
// debugs it, and so is most of what it would measure.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { LINK, CHROMIUM, ROWS } = process.env;
const rows = Number(ROWS);
const base = new URL(LINK).origin;
const MEMORY_MB_MAX = 300;
const FRAME_MS_MAX = 100;
const SCROLLED_PIXELS = 12_000;
const PATIENCE_MS = 120_000;

let executablePath = CHROMIUM;
if (!executablePath) executablePath = await (await import("@sparticuz/chromium")).default.executablePath();
const profile = mkdtempSync(join(tmpdir(), "million-"));
const browser = spawn(executablePath, [
  "--remote-debugging-pipe", "--no-sandbox", "--headless=shell", "--disable-gpu", "--disable-dev-shm-usage", "--enable-precise-memory-info", "--disable-quic",
  "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,900", `--user-data-dir=${profile}`, "about:blank",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
process.on("exit", () => browser.kill("SIGKILL"));

/** Calls of the browser that are not answered yet, by their numbers. */
const pending = new Map();
let called = 0;
let heard = "";
browser.stdio[4].on("data", (piece) => {
  const messages = (heard + piece).split("\0");
  heard = messages.pop();
  for (const text of messages) {
    const { id, result, error } = JSON.parse(text);
    const waiting = pending.get(id);
    pending.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }
});

function call(method, params = {}, sessionId = undefined) {
  const id = ++called;
  browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
  return new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
}

const { targetInfos } = await call("Target.getTargets");
const { sessionId } = await call("Target.attachToTarget", { targetId: targetInfos.find((one) => one.type === "page").targetId, flatten: true });

/** What a function comes to in the page. */
async function inPage(run, ...args) {
  const expression = `(${run})(...${JSON.stringify(args)})`;
  const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, sessionId);
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

/** Waits until a function is true of the page. */
async function until(run) {
  for (const began = performance.now(); performance.now() - began < PATIENCE_MS; await new Promise((resolve) => setTimeout(resolve, 10))) {
    if (await inPage(run)) return;
  }
  throw new Error(`not within ${PATIENCE_MS} ms: ${run}`);
}

const isShown = () => document.querySelectorAll(".grid-row").length > 0 && document.querySelectorAll(".grid-row.waiting").length === 0;
await call("Page.navigate", { url: LINK }, sessionId);
await until(() => document.querySelector(".view") !== null);
await call("Page.navigate", { url: `${base}/console/readings/rows` }, sessionId);
await until(isShown);

/** The memory of the process that shows the page, as the system counts it; what the machine has for all browsers is not in it. */
function residentMegabytes(id) {
  const status = readFileSync(`/proc/${id}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
}
const { processInfo } = await call("SystemInfo.getProcessInfo");
const renderers = processInfo.filter((one) => one.type === "renderer").map((one) => one.id);

await inPage(() => {
  globalThis.frames_ = { longest: 0, count: 0, last: 0, tasks: [] };
  const tick = (now) => {
    const { last } = globalThis.frames_;
    if (last) {
      globalThis.frames_.longest = Math.max(globalThis.frames_.longest, now - last);
      globalThis.frames_.count += 1;
    }
    globalThis.frames_.last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) globalThis.frames_.tasks.push(Math.round(entry.duration)); }).observe({ entryTypes: ["longtask"] });
});

const foot = () => inPage(() => document.querySelector(".grid-foot").textContent.trim());
let most = 0;
let heap = 0;
const started = performance.now();
for (let step = 0; ; step += 1) {
  await inPage((by) => { document.querySelector(".grid").scrollTop += by; }, SCROLLED_PIXELS);
  await until(isShown);
  if (step % 20 === 0) {
    most = Math.max(most, ...renderers.map(residentMegabytes));
    heap = Math.max(heap, await inPage(() => performance.memory.usedJSHeapSize / 1048576));
  }
  const text = await foot();
  const last = await inPage(() => Math.max(...[...document.querySelectorAll(".grid-row")].map((row) => Number(row.getAttribute("aria-rowindex")))));
  if (!/so far/.test(text) && last > rows) break;
  if (step % 200 === 0) console.error(`${text}, ${Math.round(most)} MB`);
}
await inPage(() => { const grid = document.querySelector(".grid"); grid.scrollTop = grid.scrollHeight / 2; });
await new Promise((resolve) => setTimeout(resolve, 300));
await until(isShown);
most = Math.max(most, ...renderers.map(residentMegabytes));
const text = await foot();
const frames = await inPage(() => globalThis.frames_);
const longest = Math.max(0, ...frames.tasks);
console.log(`${text}, scrolled through in ${Math.round((performance.now() - started) / 1000)} s: at most ${Math.round(most)} MB resident, ${Math.round(heap)} MB of them the script's; longest task ${longest} ms, longest time between frames ${Math.round(frames.longest)} ms of ${frames.count}`);
browser.kill("SIGKILL");
await once(browser, "exit");
rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
assert.match(text, new RegExp(rows.toLocaleString("en")));
assert.ok(most < MEMORY_MB_MAX, `${most} MB`);
assert.ok(longest <= FRAME_MS_MAX, `a task of ${longest} ms`);
console.log("ok: every row was scrolled through");
