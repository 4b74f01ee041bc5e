// Ask: each read and write a form of its own, as whoever one likes, with the plan beside the answer. A write is tried before it is done.

import { html, nothing, type TemplateResult } from "lit";
import { api, reasonOf, type SystemInfo, type Typed, type TypedMap } from "./api.js";
import { follow, Part } from "./element.js";
import { recordingOf, recordStep } from "./recorder.js";
import { changeTable, pretty, textOf, units } from "./value.js";

interface CallerForm {
  authenticated: boolean;
  claims: Record<string, string>;
}

/** Who was chosen last, by system. They are gone with the page. */
const callers = new Map<string, CallerForm>();

export class AskView extends Part {
  static override properties = {
    system: { attribute: false },
    forms: { state: true },
    name: { state: true },
    answer: { state: true },
    tried: { state: true },
    failure: { state: true },
    busy: { state: true },
    search: { state: true },
  };

  declare system: SystemInfo;
  declare forms: any;
  declare name: string;
  declare answer: any;
  declare tried: any;
  declare failure: string;
  declare busy: boolean;
  declare search: string;
  private args: Record<string, string> = {};
  /** Arguments that are sent as null: what they stand for is cleared. */
  private nulls = new Set<string>();
  private limit = "";
  private key = "";
  private version = "";
  private caller: CallerForm = { authenticated: true, claims: {} };
  private triedFor = "";

  constructor() {
    super();
    this.forms = null;
    this.name = "";
    this.answer = null;
    this.tried = null;
    this.failure = "";
    this.busy = false;
    this.search = "";
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("system")) void this.load();
  }

  /** The operation that the address names. */
  readAddress(): void {
    const wanted = new URLSearchParams(location.search).get("op");
    const known: any[] = this.forms?.operations ?? [];
    const name = known.find((one) => one.name === wanted)?.name ?? known[0]?.name ?? "";
    if (name !== this.name) {
      this.name = name;
      this.args = {};
      this.nulls = new Set();
      this.key = "";
      this.version = "";
      this.answer = null;
      this.tried = null;
      this.failure = "";
    }
  }

  private async load(): Promise<void> {
    this.forms = null;
    this.name = "";
    this.answer = null;
    this.tried = null;
    this.failure = "";
    try {
      this.forms = await api.get(this.system.name, "operations");
      const known = callers.get(this.system.name);
      const claims: Record<string, string> = {};
      for (const claim of this.claims) claims[claim] = "";
      this.caller = known ?? { authenticated: true, claims };
      this.readAddress();
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  private get claims(): string[] {
    const known: string[] = this.forms.callers.claims;
    const all = known.includes("id") ? known : ["id", ...known];
    return this.forms.callers.roles.length && !all.includes("role") ? [...all, "role"] : all;
  }

  private get operation(): any {
    return this.forms?.operations.find((one: any) => one.name === this.name);
  }

  private asked(more: object = {}): any {
    const args: Record<string, string> = {};
    for (const [name, value] of Object.entries(this.args)) if (value !== "" && !this.nulls.has(name)) args[name] = value;
    const json: Record<string, string> = {};
    for (const name of this.nulls) json[name] = "null";
    return { name: this.name, args, json, caller: this.caller, ...more };
  }

  private writeAsked(): any {
    return this.asked({ key: this.key || null, version: this.version || null });
  }

  private async run(work: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    this.failure = "";
    callers.set(this.system.name, this.caller);
    try {
      await work();
    } catch (error) {
      this.failure = reasonOf(error);
    }
    this.busy = false;
  }

  private read(cursor: string | null = null): void {
    void this.run(async () => {
      const limit = this.limit ? Number(this.limit) : null;
      const record = recordingOf(this.system.name).on && cursor === null;
      const asked = this.asked({ limit, cursor, record });
      this.answer = await api.post(this.system.name, "read", asked);
      if (record) recordStep(this.system.name, asked, this.answer);
    });
  }

  private tryWrite(): void {
    void this.run(async () => {
      const asked = this.writeAsked();
      this.answer = null;
      this.tried = await api.post(this.system.name, "dry-run", asked);
      this.triedFor = JSON.stringify(asked);
    });
  }

  private doWrite(): void {
    void this.run(async () => {
      const record = recordingOf(this.system.name).on;
      const asked = this.writeAsked();
      this.answer = await api.post(this.system.name, "write", { ...asked, record });
      this.tried = null;
      if (record) recordStep(this.system.name, asked, this.answer);
    });
  }

  private submit(event: Event): void {
    event.preventDefault();
    if (this.operation.kind === "read") this.read();
    else this.tryWrite();
  }

  override render(): TemplateResult {
    if (!this.forms) return html`<p class="pad" role="status">${this.failure || "loading …"}</p>`;
    const all: any[] = this.forms.operations.filter((one: any) => one.name.toLowerCase().includes(this.search.toLowerCase()));
    return html`<div class="view ask">
      <h1 class="hidden">Ask ${this.system.name}</h1>
      <nav class="operations" aria-label="reads and writes">
        <input id="filter" type="search" placeholder="find a read or write" aria-label="find a read or write" .value=${this.search} @input=${(event: Event) => { this.search = (event.target as HTMLInputElement).value; }} />
        ${["read", "write"].map((kind) => {
          const own = all.filter((one) => one.kind === kind);
          return own.length
            ? html`<h2>${kind}s</h2><ul>${own.map(
                (one) => html`<li><a href="/console/${encodeURIComponent(this.system.name)}/ask?op=${encodeURIComponent(one.name)}" aria-current=${one.name === this.name ? "true" : nothing} @click=${follow}>${one.name}</a></li>`,
              )}</ul>`
            : nothing;
        })}
      </nav>
      <div class="asked">${this.operation ? this.form(this.operation) : html`<p class="pad">This model has no reads or writes.</p>`}</div>
    </div>`;
  }

  private form(operation: any): TemplateResult {
    const isWrite = operation.kind === "write";
    // What is refused is done only to have it in a scenario: it changes nothing.
    const isRefused = Boolean(this.tried?.refusal);
    const canDo = this.tried && (!isRefused || recordingOf(this.system.name).on) && this.triedFor === JSON.stringify(this.writeAsked());
    return html`
      <form @submit=${this.submit} autocomplete="off">
        <header>
          <h2>${operation.name} <small>${operation.http ? html`<code>${operation.http}</code>` : "no route"}</small></h2>
          ${operation.where ? html`<p class="lead">where <code>${operation.where}</code></p>` : nothing}
          <p class="lead">allowed: <code>${operation.allow}</code></p>
        </header>
        <div class="columns">
          <fieldset>
            <legend>Arguments</legend>
            ${operation.args.length === 0 ? html`<p class="lead">It takes none.</p>` : nothing}
            ${operation.args.map((argument: any) => this.field(argument))}
            ${operation.pages
              ? html`<label class="field"><span>rows in a page</span><input type="number" min="1" inputmode="numeric" .value=${this.limit} @input=${(event: Event) => { this.limit = (event.target as HTMLInputElement).value; }} /></label>`
              : nothing}
            ${isWrite && operation.idempotency !== "none"
              ? html`<label class="field"><span>idempotency key${operation.idempotency === "required" ? " *" : ""}</span><input type="text" .value=${this.key} @input=${(event: Event) => { this.key = (event.target as HTMLInputElement).value; this.requestUpdate(); }} /></label>`
              : nothing}
            ${isWrite ? html`<label class="field"><span>version that the row must have</span><input type="text" .value=${this.version} @input=${(event: Event) => { this.version = (event.target as HTMLInputElement).value; this.requestUpdate(); }} /></label>` : nothing}
          </fieldset>
          <fieldset>
            <legend>As</legend>
            <label class="check"><input type="checkbox" .checked=${this.caller.authenticated} @change=${(event: Event) => { this.caller = { ...this.caller, authenticated: (event.target as HTMLInputElement).checked }; this.requestUpdate(); }} /> somebody who has shown credentials</label>
            ${this.claims.map((claim) => this.claim(claim))}
          </fieldset>
        </div>
        <div class="bar">
          <button class="primary" type="submit" ?disabled=${this.busy}>${isWrite ? "Try it (dry run)" : "Run"}</button>
          ${isWrite && !this.forms.readOnly
            ? html`<button type="button" class="danger" ?disabled=${this.busy || !canDo} @click=${() => this.doWrite()}>${canDo && isRefused ? "Record the refusal" : "Do it"}</button>`
            : nothing}
          ${isWrite && this.forms.readOnly ? html`<span class="lead">this console only reads</span>` : nothing}
        </div>
      </form>
      ${this.failure ? html`<p class="bad pad" role="alert">${this.failure}</p>` : nothing}
      ${this.tried ? this.trial() : nothing}
      ${this.answer ? (isWrite ? this.written() : this.readAnswer()) : nothing}
    `;
  }

  private field(argument: any): TemplateResult {
    const set = (event: Event): void => {
      this.args = { ...this.args, [argument.name]: (event.target as HTMLInputElement).value };
      this.requestUpdate();
    };
    const value = this.args[argument.name] ?? "";
    if (this.operation.kind === "write" && argument.optional) return html`<div class="clearable">${this.plainField(argument, value, set)}${this.nullBox(argument.name)}</div>`;
    return this.plainField(argument, value, set);
  }

  private nullBox(name: string): TemplateResult {
    const change = (event: Event): void => {
      const nulls = new Set(this.nulls);
      if ((event.target as HTMLInputElement).checked) nulls.add(name);
      else nulls.delete(name);
      this.nulls = nulls;
      this.requestUpdate();
    };
    return html`<label class="null"><input type="checkbox" .checked=${this.nulls.has(name)} @change=${change} />null<span class="hidden"> for ${name}: it is cleared</span></label>`;
  }

  private plainField(argument: any, value: string, set: (event: Event) => void): TemplateResult {
    const off = this.nulls.has(argument.name);
    const label = html`<span>${argument.name}${argument.optional ? "" : " *"} <small>${argument.type}${argument.default ? `, default ${argument.default}` : ""}</small></span>`;
    if (argument.members || argument.isBool) {
      const members: string[] = argument.members ?? ["true", "false"];
      return html`<label class="field">${label}<select ?disabled=${off} @change=${set}><option value="" ?selected=${value === ""}></option>${members.map((one) => html`<option value=${one} ?selected=${one === value}>${one}</option>`)}</select></label>`;
    }
    if (argument.json) {
      return html`<label class="field">${label}<textarea ?disabled=${off} rows="2" spellcheck="false" placeholder="JSON" .value=${value} @input=${set}></textarea></label>`;
    }
    return html`<label class="field">${label}<input type="text" spellcheck="false" ?disabled=${off} .value=${value} @input=${set} /></label>`;
  }

  private claim(claim: string): TemplateResult {
    const roles: string[] = this.forms.callers.roles;
    const value = this.caller.claims[claim] ?? "";
    const set = (event: Event): void => {
      const text = (event.target as HTMLInputElement).value;
      this.caller = { ...this.caller, claims: { ...this.caller.claims, [claim]: text } };
      this.requestUpdate();
    };
    const off = !this.caller.authenticated;
    if (claim === "role" && roles.length) {
      return html`<label class="field"><span>role</span><select ?disabled=${off} @change=${set}><option value="" ?selected=${value === ""}></option>${roles.map((role) => html`<option value=${role} ?selected=${role === value}>${role}</option>`)}</select></label>`;
    }
    const at = this.forms.callers.claims.indexOf(claim);
    const type: string = this.forms.callers.types[at] ?? "";
    return html`<label class="field"><span>${claim}${type.startsWith("list") ? html` <small>${type}, with commas</small>` : nothing}</span><input type="text" spellcheck="false" ?disabled=${off} .value=${value} @input=${set} /></label>`;
  }

  private refusal(refusal: any): TemplateResult {
    const shown = Object.entries(refusal.shown as TypedMap);
    return html`<p class="verdict refused" role="status"><span class="badge bad">${refusal.status}</span> <b>${refusal.name}</b> ${refusal.detail}${shown.length ? html` (${shown.map(([name, value]) => `${name} = ${textOf(value)}`).join(", ")})` : nothing}</p>`;
  }

  private trial(): TemplateResult {
    const tried = this.tried;
    return html`<section class="answer" aria-label="dry run">
      <h3>Dry run <small>nothing was written</small></h3>
      ${tried.refusal
        ? this.refusal(tried.refusal)
        : html`<p class="verdict" role="status"><span class="badge good">${tried.status}</span> it would change ${tried.changes.length} ${tried.changes.length === 1 ? "row" : "rows"}, and take ${tried.consumed.write} write units${tried.replayed ? "; it was done before under this key" : ""}</p>`}
      ${tried.changes.map(changeTable)}
      <details><summary>The plan of the write</summary>${this.writePlan(tried.plan)}</details>
    </section>`;
  }

  private writePlan(plan: any): TemplateResult {
    return html`<ul class="plan">
      <li>predicted: ${plan.units.least}${plan.units.most === null ? " or more" : plan.units.most === plan.units.least ? "" : ` to ${plan.units.most}`} write units</li>
      ${plan.readFirst.length ? html`<li>reads first: ${plan.readFirst.join(", ")}</li>` : nothing}
      ${plan.clauses.map((clause: any) => html`<li><small class="badge">${clause.place}</small> <code>${clause.holds}</code></li>`)}
      ${plan.refusals.length ? html`<li>may refuse with ${plan.refusals.map((one: any) => html`<span class="rule">${one.name} <small>${one.status}</small></span> `)}</li>` : nothing}
    </ul>`;
  }

  private written(): TemplateResult {
    const answer = this.answer;
    return html`<section class="answer" aria-label="what was done">
      <h3>${answer.refusal ? "Refused" : "Done"}</h3>
      ${answer.refusal
        ? this.refusal(answer.refusal)
        : html`<p class="verdict" role="status"><span class="badge good">${answer.status}</span> ${answer.changes.length} ${answer.changes.length === 1 ? "row" : "rows"} changed, ${answer.consumed.write} write units and ${units(answer.consumed.read)} read units consumed${answer.replayed ? "; the answer of an earlier request" : ""}</p>`}
      ${answer.value ? html`<details><summary>What was answered</summary><pre tabindex="0" aria-label="the answer">${pretty(answer.value)}</pre></details>` : nothing}
      ${answer.changes.map(changeTable)}
    </section>`;
  }

  private readAnswer(): TemplateResult {
    const answer = this.answer;
    return html`<div class="beside">
      <section class="answer" aria-label="the answer">
        <h3>Answer</h3>
        ${answer.refusal ? this.refusal(answer.refusal) : html`<p class="verdict" role="status"><span class="badge good">200</span> ${answer.returned} returned of ${answer.looked} read, ${units(answer.consumed.read)} read units consumed</p>`}
        ${answer.refusal ? nothing : this.value(answer.value)}
        ${answer.next ? html`<button @click=${() => this.read(answer.next)}>Next page</button>` : nothing}
      </section>
      <section class="plan-side" aria-label="the plan">
        <h3>Plan</h3>
        ${this.plan(answer)}
      </section>
    </div>`;
  }

  private value(value: Typed | null): TemplateResult {
    if (value === null) return html`<p class="lead">nothing</p>`;
    if ("L" in value && value.L.length > 0 && value.L.every((one) => "M" in one)) {
      const rows = value.L.map((one) => (one as { M: TypedMap }).M);
      const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      return html`<div class="scroll" tabindex="0" role="region" aria-label="rows of the answer"><table class="lines">
        <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${names.map((name) => html`<td class=${row[name] && "N" in row[name]! ? "number" : ""}>${textOf(row[name])}</td>`)}</tr>`)}</tbody>
      </table></div>`;
    }
    return html`<pre tabindex="0" aria-label="the answer">${pretty(value)}</pre>`;
  }

  private plan(answer: any): TemplateResult {
    const combination = answer.plan.combination;
    const asked: any[] = answer.plan.asked ?? [];
    return html`
      <ol class="plan">
        ${(combination?.requests ?? []).map(
          (request: any, at: number) => html`<li>
            <p><span class="badge">${request.call}</span> <b>${request.index ?? "the table"}</b></p>
            ${asked[at]?.ranges?.length ? html`${asked[at].ranges.slice(0, 20).map((range: string) => html`<p><code>${range}</code></p>`)}${asked[at].ranges.length > 20 ? html`<p>and ${asked[at].ranges.length - 20} more</p>` : nothing}` : html`<p><code>${request.key}</code>${asked[at]?.waitsFor ? html` once <code>${asked[at].waitsFor}</code> is read` : nothing}</p>`}
            ${request.filter ? html`<p>then where <code>${request.filter}</code></p>` : nothing}
            <p class="lead">predicted: ${request.capacity.formula} = ${units(request.capacity.least)} to ${request.capacity.most === null ? "any number of" : units(request.capacity.most)} units, ${request.consistency}</p>
          </li>`,
        )}
      </ol>
      <h4>What the store was asked</h4>
      <div class="scroll" tabindex="0" role="region" aria-label="calls of the store"><table>
        <thead><tr><th scope="col">call</th><th scope="col">at</th><th scope="col" class="number">read</th><th scope="col" class="number">returned</th><th scope="col" class="number">units</th></tr></thead>
        <tbody>${answer.calls.map((call: any) => html`<tr><th scope="row">${call.call}</th><td>${call.index ?? "table"}</td><td class="number">${call.looked}</td><td class="number">${call.returned}</td><td class="number">${units(call.read)}</td></tr>`)}</tbody>
      </table></div>
      ${combination?.not?.length
        ? html`<h4>Why the others lost</h4><ul class="plan">${combination.not.map((one: any) => html`<li><b>${one.path}</b>: ${one.why}</li>`)}</ul>`
        : nothing}
    `;
  }
}

customElements.define("ask-view", AskView);
