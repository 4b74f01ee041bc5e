// What all parts of the page share: they stand in the page itself, so that one style holds for all.

import { LitElement } from "lit";

export class Part extends LitElement {
  override createRenderRoot(): HTMLElement {
    return this;
  }
}

export function go(path: string): void {
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** A link within the page. */
export function follow(event: MouseEvent): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  const link = (event.currentTarget as HTMLAnchorElement).getAttribute("href");
  if (link) {
    event.preventDefault();
    go(link);
  }
}

/** Puts a new query into the address without leaving the view. */
export function setQuery(values: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
}
