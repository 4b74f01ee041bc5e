// A table that shows a few rows of very many. Rows come in pages, in order; of pages that are out of sight only the beginning is kept,
// and they are fetched again when they come back.

import { html, nothing, type TemplateResult } from "lit";
import { css } from "./css.js";
import { Part } from "./element.js";
import { reasonOf } from "./api.js";

export interface Column {
  name: string;
  label: string;
  hint?: string;
}

export interface Page {
  rows: any[];
  next: unknown;
}

export interface Source {
  page(start: unknown): Promise<Page>;
  cells(row: any, before: any | undefined): (TemplateResult | string | typeof nothing)[];
  columns: Column[];
  label: string;
}

interface Kept {
  start: unknown;
  first: number;
  count: number;
  rows: any[] | null;
  loading: boolean;
  touched: number;
}

const ROW_HEIGHT = 30;
/** Pages whose rows are kept. */
const PAGES_KEPT = 12;
/** Browsers have a bound on how tall an element may be. */
const HEIGHT_MAX = 8_000_000;
/** How many rows before the end the next page is asked for. */
const AHEAD_ROWS = 300;

export class VirtualTable extends Part {
  static override properties = { source: { attribute: false } };

  declare source: Source | null;
  private pages: Kept[] = [];
  private total = 0;
  private next: unknown = null;
  private begun = false;
  private isEnded = false;
  private isLoading = false;
  private failure = "";
  private first = 0;
  private viewport = 600;
  private active = -1;
  private clock = 0;
  private ticking = false;
  private resized: ResizeObserver | null = null;
  private generation = 0;

  constructor() {
    super();
    this.source = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.resized = new ResizeObserver(() => this.measure());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.resized?.disconnect();
    this.generation += 1;
  }

  override firstUpdated(): void {
    const grid = this.grid;
    if (grid) this.resized?.observe(grid);
    this.measure();
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("source")) this.reset();
  }

  private get grid(): HTMLElement | null {
    return this.querySelector(".grid");
  }

  reset(): void {
    this.generation += 1;
    this.pages = [];
    this.total = 0;
    this.next = null;
    this.begun = false;
    this.isEnded = false;
    this.isLoading = false;
    this.failure = "";
    this.first = 0;
    this.active = -1;
    if (this.grid) this.grid.scrollTop = 0;
    if (this.source) void this.loadMore();
  }

  private measure(): void {
    const grid = this.grid;
    if (grid) this.viewport = Math.max(ROW_HEIGHT, grid.clientHeight - ROW_HEIGHT);
    this.requestUpdate();
  }

  private async loadMore(): Promise<void> {
    if (this.isLoading || this.isEnded || !this.source) return;
    const generation = this.generation;
    this.isLoading = true;
    this.requestUpdate();
    try {
      const start = this.begun ? this.next : null;
      const page = await this.source.page(start);
      if (generation !== this.generation) return;
      if (page.rows.length > 0) {
        const touched = ++this.clock;
        this.pages.push({ start, first: this.total, count: page.rows.length, rows: page.rows, loading: false, touched });
        this.total += page.rows.length;
      }
      this.begun = true;
      this.next = page.next;
      this.isEnded = page.next === null || page.next === undefined;
      this.drop();
    } catch (error) {
      if (generation !== this.generation) return;
      this.failure = reasonOf(error);
      this.isEnded = true;
    }
    this.isLoading = false;
    this.place();
    this.requestUpdate();
    this.want();
  }

  /** Forgets the rows of pages that nobody looked at for longest. */
  private drop(): void {
    const kept = this.pages.filter((page) => page.rows !== null);
    if (kept.length <= PAGES_KEPT) return;
    kept.sort((one, other) => one.touched - other.touched);
    for (const page of kept.slice(0, kept.length - PAGES_KEPT)) page.rows = null;
  }

  private pageOf(row: number): Kept | undefined {
    let low = 0;
    let high = this.pages.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const page = this.pages[middle]!;
      if (row < page.first) high = middle - 1;
      else if (row >= page.first + page.count) low = middle + 1;
      else return page;
    }
    return undefined;
  }

  private rowAt(row: number): any | undefined {
    const page = this.pageOf(row);
    if (!page) return undefined;
    page.touched = ++this.clock;
    if (page.rows) return page.rows[row - page.first];
    if (!page.loading) void this.fetchAgain(page);
    return undefined;
  }

  private async fetchAgain(page: Kept): Promise<void> {
    const generation = this.generation;
    page.loading = true;
    try {
      const again = await this.source!.page(page.start);
      if (generation !== this.generation) return;
      // Rows may have come or gone since: what is shown is what is there now, in the room that there is.
      page.rows = again.rows.slice(0, page.count);
    } catch (error) {
      if (generation === this.generation) this.failure = reasonOf(error);
    }
    page.loading = false;
    this.drop();
    this.requestUpdate();
  }

  private get visible(): number {
    return Math.ceil(this.viewport / ROW_HEIGHT) + 1;
  }

  private get whole(): number {
    return this.total * ROW_HEIGHT;
  }

  private get height(): number {
    return Math.min(this.whole, HEIGHT_MAX);
  }

  /** Where a row is, between nothing and the end: where rows are more than fit, a pixel is several rows. */
  private place(): void {
    const grid = this.grid;
    if (!grid || this.whole <= HEIGHT_MAX) return;
    const most = this.whole - this.viewport;
    const room = this.height - this.viewport;
    grid.scrollTop = (this.first * ROW_HEIGHT * room) / most;
  }

  private readonly onScroll = (): void => {
    if (this.ticking) return;
    this.ticking = true;
    requestAnimationFrame(() => {
      this.ticking = false;
      const grid = this.grid;
      if (!grid) return;
      const room = Math.max(1, this.height - this.viewport);
      const most = Math.max(0, this.whole - this.viewport);
      this.first = (Math.min(grid.scrollTop, room) * most) / room / ROW_HEIGHT;
      this.requestUpdate();
      this.want();
    });
  };

  private want(): void {
    if (!this.isEnded && !this.failure && this.first + this.visible + AHEAD_ROWS > this.total) void this.loadMore();
  }

  private readonly onKey = (event: KeyboardEvent): void => {
    const page = Math.max(1, this.visible - 2);
    const steps: Record<string, number> = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.total - 1,
    };
    if (event.key === "Enter" || event.key === " ") {
      const row = this.rowAt(this.active);
      if (row) this.choose(this.active, row);
      event.preventDefault();
      return;
    }
    const wanted = steps[event.key];
    if (wanted === undefined || this.total === 0) return;
    event.preventDefault();
    this.active = Math.max(0, Math.min(this.total - 1, wanted));
    this.reveal(this.active);
  };

  private reveal(row: number): void {
    const fits = Math.floor(this.viewport / ROW_HEIGHT);
    if (row < this.first) this.first = row;
    else if (row > this.first + fits - 1) this.first = row - fits + 1;
    const grid = this.grid;
    if (grid) {
      const room = Math.max(1, this.height - this.viewport);
      const most = Math.max(1, this.whole - this.viewport);
      grid.scrollTop = (this.first * ROW_HEIGHT * room) / most;
    }
    this.requestUpdate();
    this.want();
  }

  private choose(number: number, row: any): void {
    this.active = number;
    this.dispatchEvent(new CustomEvent("choose", { detail: row, bubbles: true }));
    this.requestUpdate();
  }

  private retry(): void {
    this.failure = "";
    this.isEnded = false;
    void this.loadMore();
  }

  override render(): TemplateResult {
    const source = this.source;
    const columns = source?.columns ?? [];
    const from = Math.floor(this.first);
    const rows: TemplateResult[] = [];
    for (let at = from; at < Math.min(this.total, from + this.visible); at += 1) {
      const row = this.rowAt(at);
      const before = at > from || at > 0 ? this.rowAt(at - 1) : undefined;
      rows.push(this.line(at, row, before, columns));
    }
    const shift = Math.min(this.grid?.scrollTop ?? 0, Math.max(0, this.height - this.viewport)) - (this.first - from) * ROW_HEIGHT;
    const size = `repeat(${Math.max(1, columns.length)}, minmax(9rem, 1fr))`;
    return html`
      <div
        class="grid"
        role="grid"
        tabindex="0"
        aria-label=${source?.label ?? "rows"}
        aria-rowcount=${this.isEnded ? this.total + 1 : -1}
        aria-colcount=${columns.length}
        aria-activedescendant=${this.active >= from && this.active < from + rows.length ? `row-${this.active}` : nothing}
        @scroll=${this.onScroll}
        @keydown=${this.onKey}
      >
        <div class="grid-head" role="row" aria-rowindex="1" ${css({ "grid-template-columns": size })}>
          ${columns.map((column) => html`<span role="columnheader" title=${column.hint ?? column.label}>${column.label}</span>`)}
        </div>
        <div class="grid-space" role="rowgroup" ${css({ height: `${this.height}px` })}>
          <div class="grid-rows" role="presentation" ${css({ transform: `translateY(${Math.max(0, shift)}px)` })}>
            ${rows.map((row) => html`<div role="presentation" class="grid-line" ${css({ "--columns": size })}>${row}</div>`)}
          </div>
        </div>
      </div>
      <p class="grid-foot" role="status">
        ${this.failure
          ? html`<span class="bad">${this.failure}</span> <button class="plain" @click=${() => this.retry()}>try again</button>`
          : this.isEnded
            ? html`${this.total.toLocaleString("en")} ${this.total === 1 ? "row" : "rows"}`
            : html`${this.total.toLocaleString("en")} rows so far, more below`}
      </p>
    `;
  }

  private line(at: number, row: any, before: any, columns: Column[]): TemplateResult {
    if (!row) {
      return html`<div class="grid-row waiting" role="row" id="row-${at}" aria-rowindex=${at + 2}>
        ${columns.map(() => html`<span role="gridcell">…</span>`)}
      </div>`;
    }
    return html`<div
      class="grid-row ${at === this.active ? "active" : ""}"
      role="row"
      id="row-${at}"
      aria-rowindex=${at + 2}
      aria-selected=${at === this.active}
      @click=${() => this.choose(at, row)}
    >
      ${this.source!.cells(row, before).map((cell) => html`<span role="gridcell">${cell}</span>`)}
    </div>`;
  }
}

customElements.define("virtual-table", VirtualTable);
