// Changes as they happen, who follows them, and what could not be done after them.

import { html, nothing, type TemplateResult } from "lit";
import { api, reasonOf, type SystemInfo, type TypedMap } from "./api.js";
import { Part } from "./element.js";
import { changeTable, keyText, textOf } from "./value.js";

/** How many changes are shown. */
const SHOWN_MAX = 200;
const LOOK_AGAIN_MILLIS = 5_000;

export class ChangesView extends Part {
  static override properties = {
    system: { attribute: false },
    changes: { state: true },
    followers: { state: true },
    parked: { state: true },
    failure: { state: true },
    live: { state: true },
    entity: { state: true },
    said: { state: true },
  };

  declare system: SystemInfo;
  declare changes: any[];
  declare followers: any[];
  declare parked: any[];
  declare failure: string;
  declare live: boolean;
  declare entity: string;
  declare said: string;
  private turn = 0;
  private timer = 0;

  constructor() {
    super();
    this.changes = [];
    this.followers = [];
    this.parked = [];
    this.failure = "";
    this.live = false;
    this.entity = "";
    this.said = "";
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.turn += 1;
    clearInterval(this.timer);
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("system")) {
      this.changes = [];
      this.followers = [];
      this.parked = [];
      this.failure = "";
      this.entity = "";
      clearInterval(this.timer);
      if (this.system.stream) {
        void this.watch(true);
        void this.look();
        this.timer = window.setInterval(() => void this.look(), LOOK_AGAIN_MILLIS);
      }
    }
  }

  private async watch(fromStart: boolean): Promise<void> {
    const turn = ++this.turn;
    this.live = true;
    let reader: number | null = null;
    while (turn === this.turn) {
      try {
        const page: any = await api.post(this.system.name, "changes", reader === null ? { fromStart } : { reader });
        if (turn !== this.turn) return;
        reader = page.reader;
        if (page.changes.length) this.changes = [...page.changes.reverse(), ...this.changes].slice(0, SHOWN_MAX);
      } catch (error) {
        if (turn !== this.turn) return;
        this.failure = reasonOf(error);
        this.live = false;
        return;
      }
    }
  }

  private async look(): Promise<void> {
    try {
      const found = await api.get(this.system.name, "followers");
      this.followers = found.followers;
      this.parked = found.parked;
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  private async order(order: string, change: string): Promise<void> {
    try {
      const done = await api.post(this.system.name, "parked", { order, change });
      this.said = done.ordered ? `${order} is ordered; who follows does it` : "it is no longer parked";
      await this.look();
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  private toggle(): void {
    if (this.live) {
      this.turn += 1;
      this.live = false;
    } else {
      this.failure = "";
      void this.watch(false);
    }
  }

  override render(): TemplateResult {
    if (!this.system.stream) {
      return html`<div class="view"><h1>Changes</h1><p class="lead">The table of ${this.system.name} has no stream: nothing tells what happens to its rows. Say <code>stream: both_images</code> under <code>table</code> of the model.</p></div>`;
    }
    const shown = this.changes.filter((one) => !this.entity || one.entity === this.entity);
    return html`<div class="view changes">
      <h1>Changes <small>${this.live ? html`<span class="badge good">live</span>` : html`<span class="badge">stopped</span>`}</small></h1>
      ${this.failure ? html`<p class="bad" role="alert">${this.failure}</p>` : nothing}
      <div class="bar">
        <button @click=${() => this.toggle()}>${this.live ? "Stop" : "Go on"}</button>
        <label><span class="hidden">entity</span><select id="filter" @change=${(event: Event) => { this.entity = (event.target as HTMLSelectElement).value; }}>
          <option value="">every entity</option>
          ${this.system.entities.map((one) => html`<option value=${one} ?selected=${one === this.entity}>${one}</option>`)}
        </select></label>
      </div>
      <section aria-label="who follows">
        <h2>Who follows</h2>
        ${this.followers.length === 0
          ? html`<p class="lead">Nobody.</p>`
          : html`<div class="scroll" tabindex="0" role="region" aria-label="followers"><table>
              <thead><tr><th scope="col">follower</th><th scope="col">noted</th><th scope="col" class="number">behind</th><th scope="col" class="number">gaps</th></tr></thead>
              <tbody>${this.followers.map((one) => html`<tr><th scope="row">${one.name}</th><td>${one.notedAt}</td><td class="number">${one.isLost ? html`<span class="bad">what comes next is no longer kept</span>` : html`${one.isAll ? "" : "at least "}${one.behind}`}</td><td class="number">${one.gaps}</td></tr>`)}</tbody>
            </table></div>`}
        ${this.parked.length
          ? html`<h2>Parked</h2><div class="scroll" tabindex="0" role="region" aria-label="parked changes"><table>
              <thead><tr><th scope="col">write</th><th scope="col">entity</th><th scope="col">why</th><th scope="col">since</th><th scope="col">order</th></tr></thead>
              <tbody>${this.parked.map(
                (one) => html`<tr><th scope="row">${one.write}</th><td>${one.entity}</td><td>${one.reason}</td><td>${one.at}</td>
                  <td>${this.system.readOnly ? nothing : html`<button ?disabled=${one.isOrdered} @click=${() => void this.order("retry", one.change)}>Retry</button> <button ?disabled=${one.isOrdered} @click=${() => void this.order("discard", one.change)}>Discard</button>`}</td></tr>`,
              )}</tbody></table></div>`
          : nothing}
        ${this.said ? html`<p role="status">${this.said}</p>` : nothing}
      </section>
      <h2>What happened <small>the newest first, ${SHOWN_MAX} at most</small></h2>
      ${shown.length === 0 ? html`<p class="lead">Nothing yet.</p>` : nothing}
      <ol class="stream">
        ${shown.map((one) =>
          one.kind === "misfit"
            ? html`<li><span class="badge bad">misfit</span> <code>${one.text}</code></li>`
            : html`<li><details>
                <summary><time>${one.at}</time> <span class="badge ${one.kind}">${one.kind}</span> ${one.entity} <code>${keyText(one.key)}</code> <span class="lead">${this.summary(one)}</span></summary>
                ${changeTable({ ...one, before: one.before ?? null, after: one.after ?? null })}
              </details></li>`,
        )}
      </ol>
    </div>`;
  }

  private summary(change: any): string {
    const after: TypedMap = change.after ?? {};
    return change.differing
      .slice(0, 4)
      .map((name: string) => `${name} ${textOf(after[name]) || "gone"}`)
      .join(", ");
  }
}

customElements.define("changes-view", ChangesView);
