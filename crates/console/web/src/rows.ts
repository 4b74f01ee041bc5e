// Rows: by entity, or by item collection as DynamoDB has them; one of them taken apart beside.

import { html, nothing, type TemplateResult } from "lit";
import { api, reasonOf, type SystemInfo, type Typed, type TypedMap } from "./api.js";
import { Part, setQuery } from "./element.js";
import { itemList, keyText, textOf } from "./value.js";
import type { Source } from "./virtual-table.js";
import "./virtual-table.js";

const PAGE_ROWS = 500;

export class RowsView extends Part {
  static override properties = {
    system: { attribute: false },
    design: { state: true },
    entity: { state: true },
    index: { state: true },
    by: { state: true },
    partition: { state: true },
    filter: { state: true },
    detail: { state: true },
    failure: { state: true },
    source: { state: true },
  };

  declare system: SystemInfo;
  declare design: any;
  declare entity: string;
  declare index: string;
  declare by: "entity" | "collection";
  declare partition: TypedMap | null;
  declare filter: string;
  declare detail: any;
  declare failure: string;
  declare source: Source | null;
  private typing = 0;

  constructor() {
    super();
    this.design = null;
    this.entity = "";
    this.index = "";
    this.by = "entity";
    this.partition = null;
    this.filter = "";
    this.detail = null;
    this.failure = "";
    this.source = null;
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("system")) {
      this.readAddress();
      void this.start();
    }
  }

  /** What the address says: so that a link leads to the same rows. */
  readAddress(): void {
    const query = new URLSearchParams(location.search);
    const entity = query.get("entity");
    this.by = query.get("by") === "collection" || query.has("partition") ? "collection" : "entity";
    this.entity = entity && this.system.entities.includes(entity) ? entity : (this.system.entities[0] ?? "");
    this.index = query.get("index") ?? "";
    this.filter = query.get("filter") ?? "";
    this.detail = null;
    try {
      const partition = query.get("partition");
      this.partition = partition ? JSON.parse(partition) : null;
    } catch {
      this.partition = null;
    }
  }

  private async start(): Promise<void> {
    this.failure = "";
    try {
      const system = this.system.name;
      this.design = await api.get(system, "design");
      this.list();
      const key = new URLSearchParams(location.search).get("key");
      if (key) await this.open(JSON.parse(key));
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  private list(): void {
    setQuery({
      by: this.by === "collection" ? "collection" : null,
      entity: this.by === "entity" ? this.entity : null,
      index: this.by === "collection" && this.index ? this.index : null,
      partition: this.by === "collection" && this.partition ? JSON.stringify(this.partition) : null,
      filter: this.filter || null,
    });
    const { by, entity, index, partition, filter } = this;
    const system = this.system.name;
    const page = async (start: unknown) => {
      const asked =
        by === "entity"
          ? { entity, filter, start, limit: PAGE_ROWS }
          : { index: index || null, partition, filter, start, limit: PAGE_ROWS };
      return api.post(system, "rows", asked);
    };
    this.source = by === "entity" ? this.entitySource(page) : this.collectionSource(page);
  }

  private entitySource(page: Source["page"]): Source {
    const entity = this.design.entities.find((one: any) => one.name === this.entity);
    const attributes: any[] = entity?.attributes ?? [];
    return {
      page,
      label: `rows of ${this.entity}`,
      columns: attributes.map((one) => ({ name: one.name, label: one.name, hint: `${one.name}: ${one.type}` })),
      cells: (row) => attributes.map((one, at) => this.cell(row, row.values[one.name], at === 0)),
    };
  }

  private collectionSource(page: Source["page"]): Source {
    const place = this.design.places.find((one: any) => (one.index ?? "") === this.index) ?? this.design.places[0];
    const index = this.design.table.indexes.find((one: any) => one.name === this.index);
    const partition: string[] = index ? index.partition : this.design.table.key.slice(0, 1);
    const keys: string[] = place.key;
    return {
      page,
      label: `items of ${this.index || "the table"}`,
      columns: [...keys.map((name) => ({ name, label: name })), { name: "entity", label: "entity" }, { name: "more", label: "attributes" }],
      cells: (row, before) => {
        const repeats = before && partition.every((name) => textOf(before.values[name]) === textOf(row.values[name]));
        return [
          ...keys.map((name) => {
            const text = textOf(row.values[name]);
            if (!partition.includes(name)) return html`<code>${text}</code>`;
            return html`<code class=${repeats ? "repeats" : "begins"}>${text}</code>`;
          }),
          html`<span class="badge kind-${row.kind}">${row.entity ?? row.kind}</span>`,
          this.rest(row, keys),
        ];
      },
    };
  }

  private rest(row: any, keys: string[]): string {
    const table = this.design.table;
    const hidden = new Set([...keys, ...table.key, ...table.indexes.flatMap((one: any) => [...one.partition, ...one.sort]), table.type]);
    return Object.entries(row.values as TypedMap)
      .filter(([name]) => !hidden.has(name))
      .slice(0, 6)
      .map(([name, value]) => `${name} ${textOf(value)}`)
      .join("  ");
  }

  private cell(row: any, value: Typed | undefined, first: boolean): TemplateResult {
    const marks = first
      ? html`${row.expired ? html`<span class="badge warn">expired</span> ` : nothing}${row.misfit ? html`<span class="badge bad">misfit</span> ` : nothing}`
      : nothing;
    if (value === undefined) return html`${marks}<span class="none" aria-label="absent">–</span>`;
    return html`${marks}<span class=${"N" in value ? "number" : ""}>${textOf(value)}</span>`;
  }

  private async open(key: TypedMap): Promise<void> {
    this.failure = "";
    try {
      this.detail = await api.post(this.system.name, "row", { key });
      this.detail.key = key;
      setQuery({ key: JSON.stringify(key) });
    } catch (error) {
      this.detail = null;
      this.failure = reasonOf(error);
    }
  }

  private close(): void {
    this.detail = null;
    setQuery({ key: null });
  }

  private typed(event: Event): void {
    const text = (event.target as HTMLInputElement).value;
    clearTimeout(this.typing);
    this.typing = window.setTimeout(() => {
      this.filter = text;
      this.list();
    }, 250);
  }

  private followReference(reference: any): void {
    if (reference.key) {
      this.by = "entity";
      this.entity = reference.entity;
      this.filter = "";
      this.list();
      void this.open(reference.key);
    } else {
      this.openCollection("", reference.partition);
    }
  }

  private openCollection(index: string, partition: TypedMap): void {
    this.by = "collection";
    this.index = index;
    this.partition = partition;
    this.filter = "";
    this.list();
  }

  override render(): TemplateResult {
    if (!this.design) return html`<p class="pad" role="status">${this.failure || "loading …"}</p>`;
    const exported = new URLSearchParams();
    if (this.by === "entity") exported.set("entity", this.entity);
    if (this.filter) exported.set("filter", this.filter);
    return html`
      <div class="view rows ${this.detail ? "with-detail" : ""}">
        <h1 class="hidden">Rows of ${this.system.name}</h1>
        <div class="bar">
          <div class="choice" role="group" aria-label="how rows are shown">
            <button aria-pressed=${this.by === "entity"} @click=${() => { this.by = "entity"; this.list(); }}>By entity</button>
            <button aria-pressed=${this.by === "collection"} @click=${() => { this.by = "collection"; this.list(); }}>By collection</button>
          </div>
          ${this.by === "entity"
            ? html`<label><span class="hidden">entity</span>
                <select @change=${(event: Event) => { this.entity = (event.target as HTMLSelectElement).value; this.detail = null; this.list(); }}>
                  ${this.design.entities.map((one: any) => html`<option value=${one.name} ?selected=${one.name === this.entity}>${one.name}${one.mirrorOf ? ` (mirror of ${one.mirrorOf})` : ""}</option>`)}
                </select></label>`
            : html`<label><span class="hidden">table or index</span>
                <select @change=${(event: Event) => { this.index = (event.target as HTMLSelectElement).value; this.partition = null; this.list(); }}>
                  <option value="" ?selected=${this.index === ""}>the table</option>
                  ${this.design.table.indexes.map((one: any) => html`<option value=${one.name} ?selected=${one.name === this.index}>${one.name}</option>`)}
                </select></label>`}
          <label class="grow"><span class="hidden">filter</span>
            <input id="filter" type="search" placeholder="filter: text, or attribute=text" .value=${this.filter} @input=${this.typed} /></label>
          <a class="button" href="/console/api/${encodeURIComponent(this.system.name)}/export?${exported.toString()}" download>Export</a>
        </div>
        ${this.partition && this.by === "collection"
          ? html`<p class="crumb">the collection <code>${keyText(this.partition)}</code>
              <button class="plain" @click=${() => { this.partition = null; this.list(); }}>show all</button></p>`
          : nothing}
        ${this.failure ? html`<p class="bad pad" role="alert">${this.failure}</p>` : nothing}
        <div class="split">
          <virtual-table .source=${this.source} @choose=${(event: CustomEvent) => void this.open(event.detail.key)}></virtual-table>
          ${this.detail ? this.aside() : nothing}
        </div>
      </div>
    `;
  }

  private aside(): TemplateResult {
    const detail = this.detail;
    return html`<aside class="detail" aria-label="the row">
      <header>
        <h2>${detail.entity ?? detail.kind} <span class="badge kind-${detail.kind}">${detail.kind}</span></h2>
        <button class="plain" @click=${() => this.close()}>close</button>
      </header>
      <p class="facts">${detail.bytes.toLocaleString("en")} bytes${detail.expired ? html` · <span class="badge warn">expired</span>` : nothing}</p>
      ${detail.misfit ? html`<p class="bad">${detail.misfit}</p>` : nothing}
      <h3>Keys</h3>
      ${detail.places.filter((place: any) => place.holds).map((place: any) => this.place(place))}
      ${this.absent(detail.places.filter((place: any) => !place.holds))}
      ${detail.references.length
        ? html`<h3>References</h3>
            <ul class="links">
              ${detail.references.map((one: any) => html`<li><button class="plain" @click=${() => this.followReference(one)}>${one.attribute} → ${one.entity}</button> <code>${keyText(one.key ?? one.partition)}</code></li>`)}
            </ul>`
        : nothing}
      ${detail.row ? html`<h3>Row</h3>${itemList(detail.row)}` : nothing}
      <h3>Item as it is stored</h3>
      ${itemList(detail.item)}
    </aside>`;
  }

  /** The indexes that do not hold the row, and why. */
  private absent(places: any[]): TemplateResult | typeof nothing {
    if (places.length === 0) return nothing;
    const unnamed = places.filter((place) => !place.names).map((place) => place.index);
    return html`<div class="place absent">
      ${places
        .filter((place) => place.names)
        .map((place) => html`<p>Not in <b>${place.index}</b>: it has no <code>${place.missing.join(", ")}</code>.</p>`)}
      ${unnamed.length ? html`<p>Not in <b>${unnamed.join(", ")}</b>: the entity has no key there.</p>` : nothing}
    </div>`;
  }

  private place(place: any): TemplateResult {
    const name = place.index ?? "the table";
    const partition: TypedMap = {};
    for (const key of place.keys) if (key.is === "partition") partition[key.attribute] = key.value;
    return html`<section class="place">
      <h4>${name}${place.when ? html` <span class="when">when ${place.when}</span>` : nothing}</h4>
      ${place.keys.map(
        (key: any) => html`<div class="key">
          <span class="key-name">${key.attribute}</span>
          <span class="key-parts">
            ${key.parts
              ? key.parts.map((part: any) =>
                  part.name
                    ? html`<span class="part"><b>${part.raw}</b><small>${part.name}${part.value && textOf(part.value) !== part.raw ? ` = ${textOf(part.value)}` : ""}</small></span>`
                    : html`<span class="part text"><b>${part.text}</b><small>text</small></span>`,
                )
              : html`<span class="part text"><b>${textOf(key.value)}</b><small>${place.names ? "not of its template" : "no template"}</small></span>`}
          </span>
        </div>`,
      )}
      <button class="plain" @click=${() => this.openCollection(place.index ?? "", partition)}>show its collection</button>
    </section>`;
  }
}

customElements.define("rows-view", RowsView);
