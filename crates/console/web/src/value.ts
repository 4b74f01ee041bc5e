// Typed values as text.

import { html, nothing, type TemplateResult } from "lit";
import type { Typed, TypedMap } from "./api.js";

/** A value as text, exact. Maps and lists look like JSON, with every digit of their numbers. */
export function textOf(value: Typed | undefined | null): string {
  if (value === undefined || value === null) return "";
  if ("S" in value) return value.S;
  return jsonOf(value);
}

function jsonOf(value: Typed): string {
  if ("S" in value) return JSON.stringify(value.S);
  if ("N" in value) return value.N;
  if ("B" in value) return `b"${value.B}"`;
  if ("BOOL" in value) return String(value.BOOL);
  if ("NULL" in value) return "null";
  if ("L" in value) return `[${value.L.map(jsonOf).join(", ")}]`;
  if ("M" in value) return mapText(value.M);
  if ("SS" in value) return `{${value.SS.map((text) => JSON.stringify(text)).join(", ")}}`;
  if ("NS" in value) return `{${value.NS.join(", ")}}`;
  return `{${value.BS.map((bytes) => `b"${bytes}"`).join(", ")}}`;
}

function mapText(map: TypedMap): string {
  return `{${Object.entries(map)
    .map(([name, value]) => `${JSON.stringify(name)}: ${jsonOf(value)}`)
    .join(", ")}}`;
}

export function typeOf(value: Typed): string {
  return Object.keys(value)[0] ?? "";
}

export const isNumber = (value: Typed | undefined): boolean => value !== undefined && "N" in value;

/** The whole of a value, indented. */
export function pretty(value: Typed, indent = ""): string {
  const deeper = `${indent}  `;
  if ("M" in value) {
    const entries = Object.entries(value.M);
    if (entries.length === 0) return "{}";
    return `{\n${entries.map(([name, one]) => `${deeper}${JSON.stringify(name)}: ${pretty(one, deeper)}`).join(",\n")}\n${indent}}`;
  }
  if ("L" in value) {
    if (value.L.length === 0) return "[]";
    return `[\n${value.L.map((one) => deeper + pretty(one, deeper)).join(",\n")}\n${indent}]`;
  }
  return jsonOf(value);
}

/** Attributes of an item as a list of names and values. */
export function itemList(item: TypedMap, marked: Set<string> = new Set()): TemplateResult {
  return html`<dl class="item">
    ${Object.entries(item).map(
      ([name, value]) => html`<div class=${marked.has(name) ? "marked" : ""}>
        <dt>${name}<span class="type">${typeOf(value)}</span></dt>
        <dd>${"M" in value || "L" in value ? html`<pre tabindex="0" aria-label=${name}>${pretty(value)}</pre>` : textOf(value)}</dd>
      </div>`,
    )}
  </dl>`;
}

export const same = (one: Typed | undefined, other: Typed | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Names that differ between two items. */
export function differing(before: TypedMap | null, after: TypedMap | null): Set<string> {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return new Set([...names].filter((name) => !same(before?.[name], after?.[name])));
}

/** A row before and after, beside each other. */
export function changeTable(change: any): TemplateResult {
  const names = differing(change.before, change.after);
  const all = [...new Set([...Object.keys(change.before ?? {}), ...Object.keys(change.after ?? {})])];
  const verb = change.before === null ? "created" : change.after === null ? "deleted" : "changed";
  return html`<section class="change ${verb}">
    <p class="change-head"><span class="badge ${verb}">${verb}</span> <b>${change.entity ?? change.kind ?? "item"}</b> <code>${keyText(change.key)}</code></p>
    <div class="scroll" tabindex="0" role="region" aria-label="row before and after">
      <table>
        <thead><tr><th scope="col">attribute</th><th scope="col">before</th><th scope="col">after</th></tr></thead>
        <tbody>
          ${all
            .filter((name) => names.has(name))
            .map(
              (name) => html`<tr>
                <th scope="row">${name}</th>
                <td>${change.before?.[name] ? html`<del>${textOf(change.before[name])}</del>` : nothing}</td>
                <td>${change.after?.[name] ? html`<ins>${textOf(change.after[name])}</ins>` : nothing}</td>
              </tr>`,
            )}
        </tbody>
      </table>
    </div>
  </section>`;
}

export function keyText(key: TypedMap): string {
  return Object.values(key).map(textOf).join(" · ");
}

export const units = (figure: number): string => (Number.isInteger(figure) ? String(figure) : figure.toFixed(1));
