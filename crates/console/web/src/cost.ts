// What the model costs at its estimates, and what was consumed since the start.

import { html, nothing, type TemplateResult } from "lit";
import { css } from "./css.js";
import { api, reasonOf, type SystemInfo } from "./api.js";
import { Part } from "./element.js";
import { units } from "./value.js";

const dollars = (sum: number): string => (sum < 0.005 && sum > 0 ? "under $0.01" : `$${sum.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`);
const figure = (count: number): string => count.toLocaleString("en", { maximumFractionDigits: 1 });

export class CostView extends Part {
  static override properties = { system: { attribute: false }, cost: { state: true }, failure: { state: true } };

  declare system: SystemInfo;
  declare cost: any;
  declare failure: string;

  constructor() {
    super();
    this.cost = null;
    this.failure = "";
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("system")) void this.load();
  }

  private async load(): Promise<void> {
    this.failure = "";
    try {
      this.cost = await api.get(this.system.name, "cost");
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  override render(): TemplateResult {
    if (!this.cost) return html`<p class="pad" role="status">${this.failure || "loading …"}</p>`;
    return html`<div class="view cost">
      <h1>Cost</h1>
      ${this.estimated()} ${this.consumed()}
    </div>`;
  }

  private estimated(): TemplateResult {
    const { report, onDemand, provisioned } = this.cost;
    if (!report) return html`<section><h2>At the estimates</h2><p class="lead">The model estimates no rates; with <code>estimates</code> in it, this is what a month costs.</p></section>`;
    const month = report.months[0];
    const operations = [...month.operations].sort((one: any, other: any) => other.dollars - one.dollars);
    const most = Math.max(...operations.map((one: any) => one.dollars), Number.MIN_VALUE);
    return html`<section>
      <h2>A month at the estimates <small>${report.region}, prices of ${report.pricesAsOf}</small></h2>
      <dl class="sums">
        <div><dt>on demand</dt><dd>${dollars(onDemand)}</dd></div>
        <div><dt>provisioned for the peak</dt><dd>${dollars(provisioned)}</dd></div>
        <div><dt>stored</dt><dd>${figure(month.storedGb)} GB</dd></div>
      </dl>
      <div class="scroll" tabindex="0" role="region" aria-label="cost by operation"><table>
        <thead><tr><th scope="col">operation</th><th scope="col" class="number">runs a month</th><th scope="col" class="number">read units</th><th scope="col" class="number">write units</th><th scope="col" class="number">on demand</th><th scope="col"><span class="hidden">drawn</span></th></tr></thead>
        <tbody>${operations.map(
          (one: any) => html`<tr>
            <th scope="row">${one.name}</th>
            <td class="number">${one.runs === null ? "no rate" : figure(one.runs)}</td>
            <td class="number">${figure(one.readUnits)}</td>
            <td class="number">${figure(one.writeUnits)}</td>
            <td class="number">${dollars(one.dollars)}</td>
            <td class="drawn"><span class="drawn-bar ${one.writes ? "writes" : "reads"}" ${css({ width: `${(100 * one.dollars) / most}%` })}></span></td>
          </tr>`,
        )}</tbody>
      </table></div>
      <details><summary>What the figures rest on</summary><ul>${report.assumptions.map((one: string) => html`<li>${one}</li>`)}</ul></details>
    </section>`;
  }

  private consumed(): TemplateResult {
    const consumed: any[] = this.cost.consumed;
    return html`<section>
      <h2>Consumed since the start</h2>
      <div class="bar"><button @click=${() => void this.load()}>Look again</button></div>
      ${consumed.length === 0
        ? html`<p class="lead">Nothing was asked yet.</p>`
        : html`<div class="scroll" tabindex="0" role="region" aria-label="consumed since the start"><table>
            <thead><tr><th scope="col">operation</th><th scope="col" class="number">requests</th><th scope="col" class="number">read units</th><th scope="col" class="number">write units</th></tr></thead>
            <tbody>${consumed.map((one) => html`<tr><th scope="row">${one.name}</th><td class="number">${figure(one.requests)}</td><td class="number">${units(one.read)}</td><td class="number">${figure(one.write)}</td></tr>`)}</tbody>
          </table></div>`}
      ${nothing}
    </section>`;
  }
}

customElements.define("cost-view", CostView);
