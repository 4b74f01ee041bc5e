// The shell: who is in, which system, which view; and the keys that lead there.

import { html, nothing, type TemplateResult } from "lit";
import { api, ApiError, reasonOf, type Session, type SystemInfo } from "./api.js";
import "./ask.js";
import "./changes.js";
import "./cost.js";
import "./design.js";
import { follow, go, Part } from "./element.js";
import { recordingOf } from "./recorder.js";
import "./rows.js";
import { applyTheme, theme, toggleTheme } from "./theme.js";

const VIEWS = [
  { name: "design", label: "Design", key: "d" },
  { name: "rows", label: "Rows", key: "r" },
  { name: "ask", label: "Ask", key: "a" },
  { name: "changes", label: "Changes", key: "c" },
  { name: "cost", label: "Cost", key: "o" },
  { name: "scenario", label: "Scenario", key: "s" },
] as const;

interface Place {
  label: string;
  path: string;
}

class SingletConsole extends Part {
  static override properties = {
    session: { state: true },
    system: { state: true },
    view: { state: true },
    failure: { state: true },
    said: { state: true },
    places: { state: true },
    sought: { state: true },
    theme: { state: true },
  };

  declare session: Session | null | undefined;
  declare system: SystemInfo | undefined;
  declare view: string;
  declare failure: string;
  declare said: string;
  declare places: Place[];
  declare sought: string;
  declare theme: string;
  /** When `g` was pressed. The clock of a page begins with it, so that 0 would be a moment ago. */
  private leader = -Infinity;

  constructor() {
    super();
    this.session = undefined;
    this.system = undefined;
    this.view = "design";
    this.failure = "";
    this.said = "";
    this.places = [];
    this.sought = "";
    this.theme = theme();
    applyTheme();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("popstate", () => this.route());
    addEventListener("keydown", (event) => this.onKey(event));
    document.addEventListener("signed-out", () => { this.session = null; });
    document.addEventListener("recording", () => this.requestUpdate());
    document.addEventListener("theme", () => { this.theme = theme(); });
    void this.start();
  }

  private async start(): Promise<void> {
    const link = location.hash.slice(1);
    if (link && location.pathname === "/console") {
      // The token is out of the address before anything else happens.
      history.replaceState(null, "", "/console");
      try {
        await api.signIn(link);
      } catch (error) {
        this.failure = reasonOf(error);
      }
    }
    await this.enter();
  }

  private async enter(): Promise<void> {
    try {
      this.session = await api.session();
      this.failure = "";
      this.route();
    } catch (error) {
      this.session = null;
      if (!(error instanceof ApiError && error.status === 401)) this.failure = reasonOf(error);
    }
  }

  private route(): void {
    if (!this.session) return;
    const [, , name, view] = location.pathname.split("/");
    const wanted = name ? decodeURIComponent(name) : "";
    const system = this.session.systems.find((one) => one.name === wanted) ?? this.session.systems[0];
    if (system !== this.system) this.system = system;
    this.view = VIEWS.find((one) => one.name === view)?.name ?? "design";
    const label = VIEWS.find((one) => one.name === this.view)?.label;
    document.title = system ? `${label} of ${system.name} · Singlet` : "Singlet console";
    for (const part of this.querySelectorAll<HTMLElement & { readAddress?: () => void }>("ask-view")) part.readAddress?.();
  }

  private path(view: string, system = this.system?.name ?? ""): string {
    return `/console/${encodeURIComponent(system)}/${view}`;
  }

  private onKey(event: KeyboardEvent): void {
    if (!this.session) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      void this.openPalette();
      return;
    }
    const at = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || at.matches?.("input, textarea, select")) return;
    const now = performance.now();
    if (now - this.leader < 1500) {
      this.leader = -Infinity;
      const view = VIEWS.find((one) => one.key === event.key);
      if (view) {
        event.preventDefault();
        go(this.path(view.name));
      }
      return;
    }
    if (event.key === "g") this.leader = now;
    else if (event.key === "/") {
      const filter = this.querySelector<HTMLElement>("#filter");
      if (filter) {
        event.preventDefault();
        filter.focus();
      }
    } else if (event.key === "?") {
      event.preventDefault();
      void this.openPalette();
    }
  }

  private async openPalette(): Promise<void> {
    const dialog = this.querySelector("dialog");
    if (!dialog || dialog.open) return;
    const places: Place[] = [];
    for (const view of VIEWS) places.push({ label: `${view.label}  (g ${view.key})`, path: this.path(view.name) });
    for (const entity of this.system?.entities ?? []) places.push({ label: `rows of ${entity}`, path: `${this.path("rows")}?entity=${encodeURIComponent(entity)}` });
    for (const system of this.session?.systems ?? []) if (system !== this.system) places.push({ label: `go to ${system.name}`, path: this.path(this.view, system.name) });
    this.places = places;
    this.sought = "";
    dialog.showModal();
    dialog.querySelector("input")?.focus();
    try {
      const forms = await api.get(this.system?.name ?? "", "operations");
      this.places = [...places, ...forms.operations.map((one: any) => ({ label: `${one.kind} ${one.name}`, path: `${this.path("ask")}?op=${encodeURIComponent(one.name)}` }))];
    } catch {
      // The places without them are enough.
    }
  }

  private leave(path: string): void {
    this.querySelector("dialog")?.close();
    go(path);
  }

  private async newLink(): Promise<void> {
    this.failure = "";
    try {
      await api.newLink();
      this.said = "A new link was printed in the terminal of the service.";
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  private async signOut(): Promise<void> {
    await api.signOut().catch(() => undefined);
    this.session = null;
    this.said = "You are signed out.";
  }

  override render(): TemplateResult {
    if (this.session === undefined) return html`<main class="gate"><p role="status">loading …</p></main>`;
    if (this.session === null) return this.gate();
    const system = this.system;
    if (!system) return html`<main class="gate"><h1>Singlet</h1><p>Nothing is served here.</p></main>`;
    const recording = recordingOf(system.name);
    return html`
      <a class="skip" href="#main" @click=${(event: Event) => { event.preventDefault(); this.querySelector<HTMLElement>("#main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <a class="logo" href=${this.path("design")} @click=${follow}><img src="/console/icon.svg" alt="" width="20" height="20" /><span class="word">Singlet</span></a>
        <label><span class="hidden">system</span>
          <select class="system" @change=${(event: Event) => go(this.path(this.view, (event.target as HTMLSelectElement).value))}>
            ${this.session.systems.map((one) => html`<option value=${one.name} ?selected=${one === system}>${one.name}</option>`)}
          </select></label>
        <nav aria-label="views">
          ${VIEWS.map((view) => html`<a href=${this.path(view.name)} aria-current=${view.name === this.view ? "page" : nothing} aria-keyshortcuts="g ${view.key}" @click=${follow}>${view.label}${view.name === "scenario" && recording.on ? html` <span class="dot" role="img" aria-label="recording"></span>` : nothing}</a>`)}
        </nav>
        <div class="tools">
          ${system.readOnly ? html`<span class="badge">read-only</span>` : nothing}
          <button class="plain" title="Ctrl K" @click=${() => void this.openPalette()}>Go to …</button>
          <button class="plain" aria-label="change to ${this.theme === "dark" ? "light" : "dark"} colours" @click=${() => toggleTheme()}>${this.theme === "dark" ? "Light" : "Dark"}</button>
          <button class="plain" @click=${() => void this.signOut()}>Sign out</button>
        </div>
      </header>
      <main id="main" tabindex="-1">${this.shown(system)}</main>
      ${this.palette()}
    `;
  }

  private shown(system: SystemInfo): TemplateResult {
    switch (this.view) {
      case "rows":
        return html`<rows-view .system=${system}></rows-view>`;
      case "ask":
        return html`<ask-view .system=${system}></ask-view>`;
      case "changes":
        return html`<changes-view .system=${system}></changes-view>`;
      case "cost":
        return html`<cost-view .system=${system}></cost-view>`;
      case "scenario":
        return html`<scenario-view .system=${system}></scenario-view>`;
      default:
        return html`<design-view .system=${system}></design-view>`;
    }
  }

  private palette(): TemplateResult {
    const sought = this.sought.toLowerCase();
    const found = this.places.filter((place) => place.label.toLowerCase().includes(sought)).slice(0, 40);
    const first = found[0];
    return html`<dialog class="palette" aria-label="go to">
      <form method="dialog" @submit=${(event: Event) => { event.preventDefault(); if (first) this.leave(first.path); }}>
        <input type="search" aria-label="where to" placeholder="a view, an entity, a read or a write" .value=${this.sought} @input=${(event: Event) => { this.sought = (event.target as HTMLInputElement).value; }} />
      </form>
      <ul>${found.map((place) => html`<li><a href=${place.path} @click=${(event: MouseEvent) => { event.preventDefault(); this.leave(place.path); }}>${place.label}</a></li>`)}</ul>
      <p class="lead">g then d, r, a, c, o or s changes the view; / goes to the filter; Esc closes.</p>
    </dialog>`;
  }

  private gate(): TemplateResult {
    return html`<main class="gate">
      <img src="/console/icon.svg" alt="" width="48" height="48" />
      <h1>Singlet console</h1>
      <p>Sign in with the link that the service printed in its terminal. It works once, within ten minutes.</p>
      ${this.failure ? html`<p class="bad" role="alert">${this.failure}</p>` : nothing}
      ${this.said ? html`<p role="status">${this.said}</p>` : nothing}
      <button class="primary" @click=${() => void this.newLink()}>Print a new link in the terminal</button>
    </main>`;
  }
}

customElements.define("singlet-console", SingletConsole);
