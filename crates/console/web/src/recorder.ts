// What was done by hand, kept until it becomes a scenario.

import { html, nothing, type TemplateResult } from "lit";
import { api, reasonOf, type SystemInfo } from "./api.js";
import { Part } from "./element.js";

/** How many steps are kept. */
const STEPS_MAX = 200;

interface Recording {
  on: boolean;
  steps: any[];
}

const recordings = new Map<string, Recording>();

export function recordingOf(system: string): Recording {
  let recording = recordings.get(system);
  if (!recording) {
    recording = { on: false, steps: [] };
    recordings.set(system, recording);
  }
  return recording;
}

export function setRecording(system: string, on: boolean): void {
  recordingOf(system).on = on;
  document.dispatchEvent(new CustomEvent("recording"));
}

export function recordStep(system: string, asked: any, answer: any): void {
  const recording = recordingOf(system);
  if (!recording.on || recording.steps.length >= STEPS_MAX) return;
  const value = answer.value ?? null;
  recording.steps.push({
    name: asked.name,
    args: asked.args,
    json: asked.json,
    caller: asked.caller,
    key: asked.key ?? null,
    version: asked.version ?? null,
    now: answer.now,
    status: answer.status,
    problem: answer.refusal?.name ?? null,
    value: value && "M" in value ? value : null,
    met: answer.met ?? [],
  });
  document.dispatchEvent(new CustomEvent("recording"));
}

export class ScenarioView extends Part {
  static override properties = {
    system: { attribute: false },
    file: { state: true },
    left: { state: true },
    failure: { state: true },
    name: { state: true },
  };

  declare system: SystemInfo;
  declare file: string;
  declare left: any[];
  declare failure: string;
  declare name: string;
  private readonly refresh = (): void => this.requestUpdate();

  constructor() {
    super();
    this.file = "";
    this.left = [];
    this.failure = "";
    this.name = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.addEventListener("recording", this.refresh);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    document.removeEventListener("recording", this.refresh);
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("system")) {
      this.file = "";
      this.left = [];
      this.failure = "";
    }
  }

  private async make(): Promise<void> {
    this.failure = "";
    try {
      const steps = recordingOf(this.system.name).steps;
      const made = await api.post(this.system.name, "scenario", { name: this.name, steps });
      this.file = made.text;
      this.left = made.left;
    } catch (error) {
      this.failure = reasonOf(error);
    }
  }

  private save(): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.file], { type: "application/yaml" }));
    link.download = `${this.system.name}-scenario.yaml`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  private clear(): void {
    recordingOf(this.system.name).steps = [];
    this.file = "";
    this.left = [];
    document.dispatchEvent(new CustomEvent("recording"));
  }

  override render(): TemplateResult {
    const recording = recordingOf(this.system.name);
    const steps = recording.steps;
    return html`<div class="view scenario">
      <h1>Scenario <small>what you do under Ask becomes a file that plays</small></h1>
      <div class="bar">
        <button class="primary" aria-pressed=${recording.on} @click=${() => setRecording(this.system.name, !recording.on)}>${recording.on ? "Stop recording" : "Record"}</button>
        <label class="grow"><span class="hidden">name of the scenario</span><input type="text" placeholder="what it shows" .value=${this.name} @input=${(event: Event) => { this.name = (event.target as HTMLInputElement).value; }} /></label>
        <button ?disabled=${steps.length === 0} @click=${() => void this.make()}>Make the file</button>
        <button ?disabled=${steps.length === 0} @click=${() => this.clear()}>Clear</button>
      </div>
      ${this.failure ? html`<p class="bad" role="alert">${this.failure}</p>` : nothing}
      ${steps.length === 0
        ? html`<p class="lead">${recording.on ? "Recording: run reads and writes under Ask." : "Nothing is recorded yet. Press Record, then run reads and writes under Ask."}</p>`
        : html`<div class="scroll" tabindex="0" role="region" aria-label="recorded steps"><table>
            <thead><tr><th scope="col" class="number">step</th><th scope="col">operation</th><th scope="col">arguments</th><th scope="col">as</th><th scope="col">came back</th></tr></thead>
            <tbody>${steps.map(
              (step, at) => html`<tr><td class="number">${at + 1}</td><th scope="row">${step.name}</th>
                <td><code>${Object.entries(step.args).map(([name, value]) => `${name}=${value}`).join(" ")}</code></td>
                <td>${step.caller.authenticated ? (step.caller.claims.id ?? Object.values(step.caller.claims).join(" ")) : "nobody"}</td>
                <td>${step.status}${step.problem ? ` ${step.problem}` : ""}</td></tr>`,
            )}</tbody></table></div>`}
      ${this.left.length
        ? html`<p class="bad">Left out: ${this.left.map((one) => `${one.name} (${one.reason})`).join(", ")}</p>`
        : nothing}
      ${this.file
        ? html`<h2>The file</h2>
            <p class="lead">Save it beside the model; <code>singlet verify MODEL --scenarios FILE</code> plays it.</p>
            <div class="bar"><button @click=${() => this.save()}>Save</button><button @click=${() => void navigator.clipboard?.writeText(this.file)}>Copy</button></div>
            <pre class="file" tabindex="0" aria-label="the scenario file">${this.file}</pre>`
        : nothing}
    </div>`;
  }
}

customElements.define("scenario-view", ScenarioView);
