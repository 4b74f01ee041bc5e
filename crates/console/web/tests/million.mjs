// Scrolls a list of very many rows from its beginning to its end and back to the middle, and says what the page took: the most memory, and
// the longest frame. `scripts/console-browser rows 1000000` runs it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { LINK, CHROMIUM, ROWS } = process.env;
const rows = Number(ROWS);
const base = new URL(LINK).origin;
const MEMORY_MB_MAX = 300;
const FRAME_MS_MAX = 100;
const SCROLLED_PIXELS = 12_000;

let executablePath = CHROMIUM;
if (!executablePath) executablePath = await (await import("@sparticuz/chromium")).default.executablePath();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--headless=shell", "--disable-gpu", "--disable-dev-shm-usage", "--enable-precise-memory-info"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(60_000);
await page.goto(LINK);
await page.waitForSelector(".view");
await page.goto(`${base}/console/readings/rows`);
await page.waitForSelector(".grid-row:not(.waiting)");
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable");

/** The memory of the process that shows the page, as the system counts it; what the machine has for all browsers is not in it. */
function residentMegabytes(id) {
  const status = readFileSync(`/proc/${id}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
}
const { processInfo } = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
const renderers = processInfo.filter((one) => one.type === "renderer").map((one) => one.id);

await page.evaluate(() => {
  globalThis.frames_ = { longest: 0, count: 0, last: 0 };
  const tick = (now) => {
    const { last } = globalThis.frames_;
    if (last && globalThis.frames_.on) {
      globalThis.frames_.longest = Math.max(globalThis.frames_.longest, now - last);
      globalThis.frames_.count += 1;
    }
    globalThis.frames_.last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  globalThis.tasks_ = [];
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) globalThis.tasks_.push(Math.round(entry.duration)); }).observe({ entryTypes: ["longtask"] });
});

const seen = () => page.evaluate(() => ({ text: document.querySelector(".grid-foot").textContent, top: document.querySelector(".grid").scrollTop, waiting: document.querySelectorAll(".grid-row.waiting").length }));
let most = 0;
let heap = 0;
const started = performance.now();
await page.evaluate(() => { globalThis.frames_.on = true; });
for (let step = 0; ; step += 1) {
  await page.evaluate((by) => { document.querySelector(".grid").scrollTop += by; }, SCROLLED_PIXELS);
  await page.waitForFunction(() => document.querySelectorAll(".grid-row.waiting").length === 0 && document.querySelectorAll(".grid-row").length > 0);
  if (step % 20 === 0) {
    most = Math.max(most, ...renderers.map(residentMegabytes));
    heap = Math.max(heap, await page.evaluate(() => performance.memory.usedJSHeapSize / 1048576));
  }
  const { text } = await seen();
  const last = await page.evaluate(() => Math.max(...[...document.querySelectorAll(".grid-row")].map((row) => Number(row.getAttribute("aria-rowindex")))));
  if (!/so far/.test(text) && last > rows) break;
  if (step % 200 === 0) console.error(`${text.trim()}, ${Math.round(most)} MB`);
}
await page.evaluate(() => { const grid = document.querySelector(".grid"); grid.scrollTop = grid.scrollHeight / 2; });
await page.waitForTimeout(300);
await page.waitForFunction(() => document.querySelectorAll(".grid-row.waiting").length === 0);
most = Math.max(most, ...renderers.map(residentMegabytes));
const { text } = await seen();
const frames = await page.evaluate(() => ({ ...globalThis.frames_, tasks: globalThis.tasks_ }));
await browser.close();
const longest = Math.max(0, ...frames.tasks);
console.log(`${text.trim()}, scrolled through in ${Math.round((performance.now() - started) / 1000)} s: at most ${Math.round(most)} MB resident, ${Math.round(heap)} MB of them the script's; longest task ${longest} ms, longest time between frames ${Math.round(frames.longest)} ms of ${frames.count}`);
assert.match(text, new RegExp(rows.toLocaleString("en")));
assert.ok(most < MEMORY_MB_MAX, `${most} MB`);
assert.ok(longest <= FRAME_MS_MAX, `a task of ${longest} ms`);
console.log("ok: every row was scrolled through");
