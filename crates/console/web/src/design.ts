// The design: the map of the key space, the access patterns, the states, and what `check` finds, in its place.

import { html, nothing, type TemplateResult } from "lit";
import { api, reasonOf, type SystemInfo } from "./api.js";
import { follow, Part } from "./element.js";
import { theme } from "./theme.js";

export class DesignView extends Part {
  static override properties = {
    system: { attribute: false },
    design: { state: true },
    failure: { state: true },
    lit: { state: true },
    theme: { state: true },
  };

  declare system: SystemInfo;
  declare design: any;
  declare failure: string;
  /** The entity that is marked in the map. */
  declare lit: string;
  declare theme: string;
  private readonly repaint = (): void => {
    this.theme = theme();
  };

  constructor() {
    super();
    this.design = null;
    this.failure = "";
    this.lit = "";
    this.theme = theme();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.addEventListener("theme", this.repaint);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener("theme", this.repaint);
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("system")) void this.load();
  }

  private async load(): Promise<void> {
    this.failure = "";
    this.design = null;
    try {
      this.design = await api.get(this.system.name, "design");
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  /** Findings whose subject is this, or begins with it. */
  private found(subject: string): any[] {
    const list: any[] = this.design.findings.list;
    return list.filter((one) => one.subject === subject);
  }

  private marks(subject: string): TemplateResult | typeof nothing {
    const found = this.found(subject);
    if (found.length === 0) return nothing;
    return html`${found.map((one) => html`<a class="mark ${one.severity}" href="#finding-${this.design.findings.list.indexOf(one)}" title=${one.message} @click=${this.reveal}>${one.code}</a>`)}`;
  }

  override render(): TemplateResult {
    const design = this.design;
    if (!design) return html`<p class="pad" role="status">${this.failure || "loading …"}</p>`;
    return html`
      <div class="view design">
        <h1>${design.name} <small>table <code>${design.table.name}</code>, times in ${design.zone}</small></h1>
        ${this.findings()}
        <section>
          <h2>The key space</h2>
          <p class="lead">Each card is one kind of item collection. Rows that share a card share a partition, and a query can read them together.</p>
          <div class="legend" role="group" aria-label="mark an entity in the map">
            ${design.entities.map(
              (one: any, at: number) => html`<button class="chip hue-${at % 8}" aria-pressed=${this.lit === one.name} @click=${() => { this.lit = this.lit === one.name ? "" : one.name; }}>${one.name}</button>${this.marks(one.name)}`,
            )}
          </div>
          ${design.places.map((place: any) => this.place(place))}
        </section>
        ${this.patterns()} ${this.writes()} ${this.drawings()} ${this.entities()}
      </div>
    `;
  }

  private hue(entity: string): number {
    return this.design.entities.findIndex((one: any) => one.name === entity) % 8;
  }

  private place(place: any): TemplateResult {
    const index = this.design.table.indexes.find((one: any) => one.name === place.index);
    return html`<section class="key-place">
      <h3>${place.index ?? "the table"} <small><code>${place.key.join(" · ")}</code>${index ? html`, ${index.local ? "local" : "global"}, carries ${index.carries}` : nothing}</small> ${this.marks(place.index ?? "table")}</h3>
      ${place.collections.length === 0 ? html`<p class="lead">No entity has an entry here.</p>` : nothing}
      <div class="collections">
        ${place.collections.map(
          (collection: any) => html`<article class="collection ${collection.meets ? "meets" : ""}" aria-label="collection ${collection.shapes.join(" or ")}">
            <header><code>${collection.shapes.join("  or  ")}</code>${collection.meets ? html`<span class="badge">entities meet</span>` : nothing}</header>
            <ul>
              ${collection.entries.map(
                (entry: any) => html`<li class=${this.lit && this.lit !== entry.entity ? "dim" : ""}>
                  <a class="chip hue-${this.hue(entry.entity)}" href="/console/${encodeURIComponent(this.system.name)}/rows?entity=${encodeURIComponent(entry.entity)}" @click=${follow}>${entry.entity}</a>
                  <code>${entry.sort || "–"}</code>
                  ${entry.mirrorOf ? html`<small>mirror of ${entry.mirrorOf}</small>` : nothing}
                  ${entry.when ? html`<small>when ${entry.when}</small>` : nothing}
                  ${entry.sparse.length ? html`<small>only with ${entry.sparse.join(", ")}</small>` : nothing}
                  ${place.index ? this.marks(`${entry.entity}.${place.index}`) : nothing}
                </li>`,
              )}
            </ul>
          </article>`,
        )}
      </div>
    </section>`;
  }

  private findings(): TemplateResult {
    const { list, unread, file } = this.design.findings;
    if (unread) return html`<p class="bad">${unread}</p>`;
    const accepted = this.design.accepted ? html` ${this.design.accepted} accepted in the model.` : nothing;
    const hints = list.filter((one: any) => one.severity === "hint");
    const others = list.filter((one: any) => one.severity !== "hint");
    return html`<section>
      ${others.length === 0
        ? html`<p class="calm"><span class="badge good">check</span> finds nothing wrong in <code>${file}</code>.${accepted}</p>`
        : html`<h2>What <code>check</code> finds <small>${others.length} in <code>${file}</code>.${accepted}</small></h2>
            <ol class="findings">${others.map((one: any) => this.finding(one))}</ol>`}
      ${hints.length
        ? html`<details class="hints"><summary>${hints.length} ${hints.length === 1 ? "hint" : "hints"}</summary><ol class="findings">${hints.map((one: any) => this.finding(one))}</ol></details>`
        : nothing}
    </section>`;
  }

  private finding(one: any): TemplateResult {
    return html`<li id="finding-${this.design.findings.list.indexOf(one)}" class=${one.severity}>
      <p><span class="mark ${one.severity}">${one.code}</span> ${one.message}</p>
      <p class="where">${one.severity}, ${one.name}${one.subject ? html`, at <code>${one.subject}</code>` : nothing}, line ${one.line}</p>
      ${one.help ? html`<p class="help">help: ${one.help}</p>` : nothing}
    </li>`;
  }

  /** Leads to a finding, unfolding what hides it. */
  private reveal(event: MouseEvent): void {
    event.preventDefault();
    const id = (event.currentTarget as HTMLAnchorElement).hash.slice(1);
    const finding = this.querySelector<HTMLElement>(`#${id}`);
    const folded = finding?.closest("details");
    if (folded) folded.open = true;
    finding?.scrollIntoView({ block: "center" });
  }

  private patterns(): TemplateResult {
    const design = this.design;
    return html`<section>
      <h2>Access patterns</h2>
      <p class="lead">What each read means, and the key condition that follows.</p>
      <div class="scroll" tabindex="0" role="region" aria-label="access patterns">
        <table>
          <thead><tr><th scope="col">read</th><th scope="col">means</th><th scope="col">index</th><th scope="col">key condition</th><th scope="col">filter</th><th scope="col" class="number">read units</th></tr></thead>
          <tbody>
            ${design.patterns.map((read: any) =>
              read.combinations.flatMap((combination: any, which: number) =>
                (combination.requests.length ? combination.requests : [null]).map(
                  (request: any, at: number) => html`<tr>
                    <th scope="row">${which === 0 && at === 0
                      ? html`<a href="/console/${encodeURIComponent(this.system.name)}/ask?op=${encodeURIComponent(read.name)}" @click=${follow}>${read.name}</a>${this.marks(read.name)}`
                      : html`<span class="hidden">${read.name}</span>`}${at === 0 && combination.sent.length ? html`<small> with ${combination.sent.join(", ")}</small>` : nothing}</th>
                    <td>${which === 0 && at === 0 ? this.meaning(read.name) : nothing}</td>
                    <td>${request ? (request.index ?? "table") : "no key answers it"}</td>
                    <td><code>${request?.key ?? ""}</code></td>
                    <td>${request?.filter ? html`<code>${request.filter}</code>` : nothing}</td>
                    <td class="number">${request ? (request.capacity.usual ?? request.capacity.least) : nothing}</td>
                  </tr>`,
                ),
              ),
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }

  private meaning(name: string): TemplateResult {
    const meaning = this.design.meanings[name] ?? {};
    return html`${meaning.of ?? ""}${meaning.where ? html` where <code>${meaning.where}</code>` : nothing}${meaning.order ? html` by ${meaning.order}` : nothing}`;
  }

  private writes(): TemplateResult | typeof nothing {
    const writes: any[] = this.design.writes;
    if (writes.length === 0) return nothing;
    return html`<section>
      <h2>Writes</h2>
      <div class="scroll" tabindex="0" role="region" aria-label="writes">
        <table>
          <thead><tr><th scope="col">write</th><th scope="col" class="number">items</th><th scope="col">reads first</th><th scope="col" class="number">write units</th><th scope="col">refuses with</th></tr></thead>
          <tbody>
            ${writes.map(
              (one) => html`<tr>
                <th scope="row"><a href="/console/${encodeURIComponent(this.system.name)}/ask?op=${encodeURIComponent(one.name)}" @click=${follow}>${one.name}</a>${this.marks(one.name)}</th>
                <td class="number">${one.bulk ? "in chunks" : one.items}</td>
                <td>${one.readFirst.join(", ")}</td>
                <td class="number">${one.units.least}${one.units.most === null ? " or more" : one.units.most === one.units.least ? "" : ` to ${one.units.most}`}</td>
                <td>${one.refusals.map((refusal: any) => html`<span class="rule">${refusal.name} <small>${refusal.status}</small></span> `)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }

  private drawings(): TemplateResult | typeof nothing {
    const drawings = this.design.drawings.filter((one: any) => one.name !== "cost");
    if (drawings.length === 0) return nothing;
    return html`<section>
      <h2>States and relations</h2>
      <div class="drawings">
        ${drawings.map(
          (one: any) => html`<figure><div class="scroll" tabindex="0" role="region" aria-label=${one.title || one.name}><img alt=${one.title || one.name} src="/console/api/${encodeURIComponent(this.system.name)}/drawing/${this.theme}/${one.name}" /></div><figcaption>${one.title || one.name}</figcaption></figure>`,
        )}
      </div>
    </section>`;
  }

  private entities(): TemplateResult {
    return html`<section>
      <h2>Entities</h2>
      ${this.design.entities.map(
        (entity: any) => html`<details>
          <summary>${entity.name} <small>${entity.attributes.length} attributes${entity.mirrorOf ? `, mirror of ${entity.mirrorOf}` : ""}${entity.expires ? `, expires at ${entity.expires}` : ""}</small></summary>
          <div class="scroll" tabindex="0" role="region" aria-label="attributes of ${entity.name}">
            <table>
              <thead><tr><th scope="col">attribute</th><th scope="col">type</th><th scope="col">value</th></tr></thead>
              <tbody>
                ${entity.attributes.map(
                  (one: any) => html`<tr>
                    <th scope="row">${one.name}${this.marks(`${entity.name}.${one.name}`)}</th>
                    <td><code>${one.type}${one.optional ? "?" : ""}</code>${one.refersTo ? html` → ${one.refersTo.entity}` : nothing}</td>
                    <td>${one.is ? html`is <code>${one.is}</code>` : one.default ? html`default <code>${one.default}</code>` : nothing} ${one.stored ?? nothing}</td>
                  </tr>`,
                )}
              </tbody>
            </table>
          </div>
        </details>`,
      )}
    </section>`;
  }
}

customElements.define("design-view", DesignView);
