// The console in a real browser: every view of the five systems, light and dark, narrow and wide, by keyboard; what axe finds, what the
// page complains of, and whom it asks. `scripts/console-browser` runs it with `LINK`, the sign-in link of a service in memory.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const { LINK, CHROMIUM, SCREENSHOTS, ALL, DIST, ONLY } = process.env;
const base = new URL(LINK).origin;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["design", "rows", "ask", "changes", "cost", "scenario"];
const SYSTEMS = ["booking", "country", "ecobid", "todo", "wardrobe"];
const FLAGS = ["--no-sandbox", "--headless=shell", "--disable-gpu", "--disable-dev-shm-usage"];

let executablePath = CHROMIUM;
if (!executablePath) executablePath = await (await import("@sparticuz/chromium")).default.executablePath();
const browser = await chromium.launch({ executablePath, args: FLAGS });
const complaints = [];
let state;

async function open(width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, storageState: state, deviceScaleFactor: 1 });
  const page = await context.newPage();
  // On a busy machine a view takes its time; what is waited for here is no measure of speed.
  page.setDefaultTimeout(120_000);
  if (DIST) {
    // A bundle that is not in the command yet.
    await page.route("**/console/app.js", (route) => route.fulfill({ contentType: "text/javascript", body: gunzipSync(readFileSync(join(DIST, "app.js.gz"))) }));
    await page.route("**/console/app.css", (route) => route.fulfill({ contentType: "text/css", body: readFileSync(join(DIST, "app.css")) }));
  }
  page.on("console", (message) => {
    // A refusal that is shown is an answer, and the browser notes it all the same.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== base && !["blob:", "data:"].includes(url.protocol)) complaints.push(`a request to ${url.href}`);
  });
  return page;
}

const ready = (page) => page.waitForFunction(() => document.querySelector(".view") && !document.querySelector("main [role=status].pad"));

async function look(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const result = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    return result.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
  });
  assert.deepEqual(found, [], `axe at ${where}`);
  const wide = await page.evaluate(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return "";
    const beyond = [...document.querySelectorAll("main *, header *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, .grid, nav, pre"));
    return beyond.slice(0, 5).map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 60)}`).join(" | ") || "something";
  });
  assert.equal(wide, "", `${where} is too wide`);
}

async function shot(page, name) {
  if (!SCREENSHOTS) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

const tests = {
  async "who has no link sees nothing, and a link works once"() {
    const page = await open(1280, "light");
    await page.goto(`${base}/console/todo/rows`);
    await page.getByRole("heading", { name: "Singlet console" }).waitFor();
    assert.equal(await page.locator(".view").count(), 0);
    await look(page, "the gate");
    await page.goto(LINK);
    await ready(page);
    assert.equal(page.url().includes("#"), false, "the token is out of the address");
    assert.equal(await page.evaluate(() => document.cookie), "", "no script reads the session");
    state = await page.context().storageState();
    await page.context().close();
    const kept = state;
    state = undefined;
    const other = await open(1280, "light");
    await other.goto(LINK);
    await other.getByRole("alert").waitFor();
    assert.equal(await other.locator(".view").count(), 0, "the link was used");
    await other.context().close();
    state = kept;
  },

  async "every view of every system, light and dark, narrow and wide"() {
    for (const [width, scheme] of [[390, "dark"], [1280, "light"], [1280, "dark"], [390, "light"]]) {
      const page = await open(width, scheme);
      // Colours and widths are the same for all systems: two of the four are looked at for one, unless all are asked for.
      const few = !ALL && ((width === 1280 && scheme === "dark") || (width === 390 && scheme === "light"));
      for (const system of few ? ["ecobid"] : SYSTEMS) {
        for (const view of VIEWS) {
          await page.goto(`${base}/console/${system}/${view}`);
          await ready(page);
          if (view === "rows") {
            await page.locator(".grid-row:not(.waiting)").first().click();
            await page.locator(".detail").waitFor();
          }
          await look(page, `${system}/${view} at ${width} px, ${scheme}`);
        }
      }
      await page.context().close();
    }
  },

  async "by keyboard alone"() {
    const page = await open(1280, "light");
    await page.goto(`${base}/console/todo/design`);
    await ready(page);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    for (const [key, view] of [["r", "rows"], ["a", "ask"], ["c", "changes"], ["o", "cost"], ["s", "scenario"], ["d", "design"], ["r", "rows"]]) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForURL(`**/todo/${view}*`);
      await ready(page);
    }
    await page.locator("select").nth(1).selectOption("Task");
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "filter");
    await page.keyboard.type("status=pending");
    await page.waitForURL(/filter=status/);
    await page.locator(".grid-row:not(.waiting)").first().waitFor();
    await page.locator(".grid").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator(".grid-row[aria-selected=true]").getAttribute("aria-rowindex"), "3");
    await page.keyboard.press("Enter");
    await page.locator(".detail").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("tasksByStatus");
    await page.locator(".palette li").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/todo/ask?op=tasksByStatus");
    await page.context().close();
  },

  async "every view of every system by keyboard alone"() {
    const page = await open(1280, "light");
    // Tab until something is reached; whatever has the focus on the way shows it.
    const tabTo = async (selector, where) => {
      for (let times = 0; times < 150; times += 1) {
        await page.keyboard.press("Tab");
        const { reached, seen, at } = await page.evaluate((selector) => {
          const one = document.activeElement;
          const style = getComputedStyle(one);
          const seen = one === document.body || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
          return { reached: one.matches(selector), seen, at: `${one.tagName}.${one.className} ${one.textContent.slice(0, 40)}` };
        }, selector);
        assert.ok(seen, `${where}: ${at} has the focus and does not show it`);
        if (reached) return;
      }
      assert.fail(`${where}: no ${selector} by Tab`);
    };
    for (const system of SYSTEMS) {
      await page.goto(`${base}/console/${system}/cost`);
      await ready(page);
      for (const [key, view] of [["d", "design"], ["c", "changes"], ["s", "scenario"], ["o", "cost"], ["r", "rows"]]) {
        await page.keyboard.press("g");
        await page.keyboard.press(key);
        await page.waitForURL(`**/${system}/${view}*`);
        await ready(page);
        await tabTo("nav[aria-label=views] a[aria-current=page]", `${system}/${view}`);
      }
      await page.locator(".grid-row:not(.waiting)").first().waitFor();
      await tabTo(".grid", `${system}/rows`);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.locator(".detail").waitFor();
      await page.keyboard.press("Escape");
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press("g");
      await page.keyboard.press("a");
      await page.waitForURL(`**/${system}/ask*`);
      await page.locator("form button[type=submit]").waitFor();
      await tabTo("form button[type=submit]", `${system}/ask`);
      await page.keyboard.press("Enter");
      // An answer, a refusal, or what is missing: something is said.
      await page.locator(".verdict, [role=alert]").first().waitFor();
    }
    await page.context().close();
  },

  async "rows: keys taken apart, references followed, collections shown, numbers exact"() {
    const page = await open(1280, "light");
    await page.goto(`${base}/console/ecobid/rows?entity=Reservation`);
    await ready(page);
    await page.locator(".grid-row:not(.waiting)").first().click();
    const detail = page.locator(".detail");
    await detail.getByText("GSI3SK").first().waitFor();
    const raw = await detail.locator(".item dd").allTextContents();
    const parts = await detail.locator(".key").nth(1).locator(".part b").allTextContents();
    assert.ok(raw.includes(parts.join("")), `${parts.join("")} is the key as it is stored`);
    await detail.getByRole("button", { name: "itemId → Item" }).click();
    await page.locator(".detail h2", { hasText: "Item" }).waitFor();
    await page.locator(".detail").getByRole("button", { name: "show its collection" }).first().click();
    await page.locator(".crumb").waitFor();
    await page.locator(".grid-row .badge", { hasText: /^Item$/ }).first().waitFor();
    const kinds = await page.locator(".grid-row .badge").allTextContents();
    assert.ok(kinds.includes("Item") && kinds.length > 1, `the collection has ${kinds}`);
    await shot(page, "console-rows");
    await page.context().close();
  },

  async "ask: a read with its plan, as somebody"() {
    const page = await open(1280, "light");
    await page.goto(`${base}/console/todo/ask?op=tasksByStatus`);
    await ready(page);
    await page.getByLabel(/^status/).selectOption("pending");
    await page.getByLabel("id", { exact: true }).fill("ada");
    await page.getByRole("button", { name: "Run" }).click();
    const verdict = await page.locator(".verdict").textContent();
    assert.match(verdict, /200 \d+ returned of \d+ read, [\d.]+ read units consumed/);
    await page.locator(".plan-side").getByText("GSI1PK").first().waitFor();
    await page.getByText("Why the others lost").waitFor();
    await look(page, "the answer of a read");
    await shot(page, "console-ask");
    await page.getByLabel("somebody who has shown credentials").uncheck();
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator(".verdict", { hasText: "unauthenticated" }).waitFor();
    await page.context().close();
  },

  async "a write is tried, done, seen live, recorded; what it says is no markup"() {
    const page = await open(1280, "light");
    const title = `<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script> & "quotes"`;
    const watcher = await open(1280, "dark");
    await watcher.goto(`${base}/console/todo/changes`);
    await watcher.locator(".badge.good", { hasText: "live" }).waitFor();
    await page.goto(`${base}/console/todo/scenario`);
    await ready(page);
    await page.getByRole("button", { name: "Record" }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.getByRole("link", { name: "createTask", exact: true }).click();
    await page.getByLabel("id", { exact: true }).fill("ada");
    await page.getByLabel(/^title/).fill("Paint the fence");
    await page.getByRole("button", { name: "Try it (dry run)" }).click();
    await page.locator(".verdict", { hasText: "it would change" }).waitFor();
    await shot(page, "console-dry-run");
    assert.equal(await page.getByRole("button", { name: "Do it" }).isDisabled(), false);
    await page.getByLabel(/^title/).fill(title);
    const before = await page.evaluate(() => fetch("/console/api/todo/rows", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ entity: "Task", limit: 1000 }) }).then((answer) => answer.json()));
    assert.equal(await page.getByRole("button", { name: "Do it" }).isDisabled(), true, "nothing is done that was not tried");
    await page.getByRole("button", { name: "Try it (dry run)" }).click();
    await page.locator(".verdict", { hasText: "it would change" }).waitFor();
    await look(page, "a dry run");
    const after = await page.evaluate(() => fetch("/console/api/todo/rows", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ entity: "Task", limit: 1000 }) }).then((answer) => answer.json()));
    assert.equal(after.rows.length, before.rows.length, "a dry run writes nothing");
    await page.getByRole("button", { name: "Do it" }).click();
    await page.locator(".verdict", { hasText: "consumed" }).waitFor();
    await watcher.locator(".stream li").filter({ hasText: "created" }).first().waitFor();
    await watcher.locator(".stream summary").first().click();
    await watcher.getByText(title).first().waitFor();
    await look(watcher, "live changes");
    // What is refused cannot be done, but while something is recorded the refusal is a step of it.
    await page.getByRole("link", { name: "completeTask", exact: true }).click();
    await page.getByLabel(/^task_id/).fill("01JQ000000000000000000000Z");
    await page.getByRole("button", { name: "Try it (dry run)" }).click();
    await page.locator(".verdict", { hasText: "task_not_found" }).waitFor();
    await page.getByRole("button", { name: "Record the refusal" }).click();
    await page.getByRole("heading", { name: "Refused" }).waitFor();
    await page.getByRole("link", { name: "Scenario" }).click();
    await page.getByRole("button", { name: "Make the file" }).click();
    const file = await page.locator("pre.file").textContent();
    assert.match(file, /when: "POST \/api\/v1\/tasks"/);
    assert.match(file, /then: 404 task_not_found/);
    await look(page, "a recorded scenario");
    await page.goto(`${base}/console/todo/rows?entity=Task&filter=onerror`);
    await page.locator(".grid-row:not(.waiting)").first().click();
    await page.locator(".detail").getByText(title).first().waitFor();
    for (const one of [page, watcher]) {
      assert.equal(await one.evaluate(() => globalThis.hit), undefined, "stored text is never markup");
      assert.equal(await one.locator("img[src=x]").count(), 0);
      await one.context().close();
    }
  },

  async "no page frames it, and no page elsewhere drives it"() {
    const page = await open(1280, "light");
    const hostile = createServer((_, answer) => {
      answer.setHeader("content-type", "text/html");
      answer.end(`<iframe src="${base}/console"></iframe>`);
    });
    await new Promise((resolve) => hostile.listen(0, "127.0.0.1", resolve));
    const own = complaints.length;
    await page.goto(`http://127.0.0.1:${hostile.address().port}/`);
    await page.waitForTimeout(500);
    const framed = page.frames().find((frame) => frame !== page.mainFrame());
    assert.equal(await framed.locator("singlet-console").count(), 0, "it is not framed");
    const asked = await page.evaluate(async (base) => {
      const answers = [];
      for (const mode of ["cors", "no-cors"]) {
        try {
          const answer = await fetch(`${base}/console/api/todo/rows`, { method: "POST", mode, credentials: "include", headers: { "content-type": "text/plain" }, body: "{}" });
          answers.push(answer.status || answer.type);
        } catch {
          answers.push("refused");
        }
      }
      return answers;
    }, base);
    assert.deepEqual(asked, ["refused", "opaque"]);
    complaints.length = own;
    hostile.close();
    await page.context().close();
  },

  async "light and dark change by a button"() {
    const page = await open(1280, "light");
    await page.goto(`${base}/console/ecobid/design`);
    await ready(page);
    await page.waitForFunction(() => [...document.images].every((image) => image.complete && image.naturalWidth > 0));
    await shot(page, "console-design");
    await page.getByRole("button", { name: "change to dark colours" }).click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await page.waitForFunction(() => [...document.images].filter((image) => image.src.includes("drawing")).every((image) => image.src.includes("/dark/")));
    await page.reload();
    await ready(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await page.context().close();
  },
};

for (const [name, test] of Object.entries(tests)) {
  // The first one signs in.
  if (ONLY && state && !name.includes(ONLY)) continue;
  const started = performance.now();
  try {
    await test();
  } catch (error) {
    console.error(`FAILED: ${name}\n${error.stack ?? error}\n${complaints.join("\n")}`);
    await browser.close();
    process.exit(1);
  }
  console.log(`ok: ${name} (${Math.round(performance.now() - started)} ms)`);
}
await browser.close();
if (complaints.length) {
  console.error(`FAILED: the page complained\n${[...new Set(complaints)].join("\n")}`);
  process.exit(1);
}
console.log("ok: no complaint, and no request to another host");
