// What to do next and what comes out: the button beside the stop light, the target, and the files to download.

import { $, make, percent, post, say } from "./dom.js";

const TARGETS = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99];
const FILES = {
  predictions: { title: "Predictions of all other images", file: "predictions.csv" },
  model: { title: "Model, for versionspace predict", file: "model.zip" },
  onnx: { title: "Model, for other programs", file: "model.onnx" },
};

export class Results {
  // changed: called after a request; labelling: called with a sentence when other images come next.
  constructor({ changed, labelling }) {
    Object.assign(this, { changed, labelling, state: null, key: "", targets: "" });
    $("to-results").addEventListener("click", () => this.open());
    $("advised").addEventListener("click", () => this.follow());
    $("target").addEventListener("change", () => this.send("/api/target", { target: Number($("target").value) }));
  }

  open() {
    $("results").showModal();
  }

  draw(state) {
    this.state = state;
    this.drawAdvised(state.light);
    this.drawTarget(state.target);
    const key = JSON.stringify([state.results, state.round, state.training.problem]);
    if (key === this.key) return;
    this.key = key;
    const { labels, behind, final, files, onnx, commands, unlabelled } = state.results;
    $("results-model").textContent = this.model(labels, behind, final, state);
    const rows = [this.ready("Labels", "labels.csv", "/api/labels.csv"),
      this.ready("Labels for Label Studio", "labels.json", "/api/labels.json")];
    for (const [kind, about] of Object.entries(FILES)) {
      const title = kind === "predictions" ? `Predictions of the ${unlabelled.toLocaleString("en")} other images` : about.title;
      rows.push(kind === "onnx" && !onnx
        ? this.row(title, make("span", { className: "hint", textContent: "needs pip install 'versionspace[onnx]'" }))
        : this.made(kind, { ...about, title }, files[kind], labels));
    }
    const focused = document.activeElement?.dataset?.kind;
    $("files").replaceChildren(...rows);
    if (focused) $("files").querySelector(`[data-kind="${focused}"]`)?.focus();
    $("commands").textContent = commands.join("\n");
  }

  model(labels, behind, final, { round, ended }) {
    if (final) return final;
    if (!round) return "There is no model yet: the labels are all there is so far.";
    const late = behind === 1 ? "1 newer label" : `${behind} newer labels`;
    if (behind) return `The newest model knows ${labels} labels and lags behind ${late}: one with all of them is trained first.`;
    return `The newest model is trained on ${labels} labels.${ended ? "" : " Those of the random images count for the final model only, once labelling has ended."}`;
  }

  row(title, ...parts) {
    return make("li", {}, make("span", { textContent: title }), make("span", { className: "file" }, ...parts));
  }

  ready(title, file, address) {
    return this.row(title, make("a", { href: address, download: file, textContent: file }));
  }

  made(kind, { title, file }, { state, share, queued, training, labels, current, problem }, newest) {
    if (state === "making") {
      const now = this.state.training;
      const stage = now.stage === "down" ? "waiting for the trainer" : now.stage === "fit" ? `training first, ${percent(now.share)}` : "training first";
      return this.row(title, make("span", { className: "hint", role: "status", textContent: queued ? "waiting for its turn" : training ? stage : `writing, ${percent(share)}` }));
    }
    const button = (text) => make("button", {
      type: "button", textContent: text, "data-kind": kind, disabled: !newest,
      "aria-label": `${text}: ${title}`, onclick: () => this.send("/api/results", { kind }),
    });
    const why = problem ? [make("span", { className: "problem", textContent: problem })] : [];
    if (state !== "ready") return this.row(title, ...why, button(problem ? "Try again" : "Prepare"));
    const link = make("a", { href: `/api/results/${kind}`, download: file, textContent: file });
    if (current) return this.row(title, link);
    return this.row(title, make("span", { className: "hint", textContent: `of ${labels} labels:` }), link, button("Renew"));
  }

  drawAdvised({ colour, random, checking }) {
    const [text, short] = checking ? [`${checking} random ${checking === 1 ? "image" : "images"} to go`, `${checking} to go`]
      : random ? [`Label ${random} random images`, `+${random} random`] : colour === "green" ? ["Results", "Results"] : ["", ""];
    const button = $("advised");
    button.hidden = !text;
    button.disabled = Boolean(checking);
    if (button.getAttribute("aria-label") === text) return;
    button.setAttribute("aria-label", text);
    button.replaceChildren(make("span", { className: "long", textContent: text }), make("span", { className: "short", textContent: short }));
  }

  drawTarget(target) {
    if (document.activeElement === $("target") || this.targets === String(target)) return;
    this.targets = String(target);
    const all = [...new Set([...TARGETS, target])].sort((a, b) => a - b);
    $("target").replaceChildren(...all.map((one) => make("option", { value: String(one), textContent: `${+(100 * one).toFixed(1)}%` })));
    $("target").value = String(target);
  }

  // Do what the stop light advises.
  async follow() {
    const { random } = this.state.light;
    if (!random) {
      this.open();
      return;
    }
    if (await this.send("/api/check", { images: random })) {
      this.labelling(`The next ${random} images are drawn at random`);
    }
  }

  // For the end: what the final model is, and a button for the files.
  summary({ results }) {
    const parts = [make("button", { type: "button", className: "primary", textContent: "Get the results", onclick: () => this.open() })];
    return results.final ? [make("p", { textContent: results.final }), ...parts] : parts;
  }

  async send(address, body) {
    try {
      await post(address, body);
      this.changed();
      return true;
    } catch (error) {
      say(error.message, { seconds: 6 });
      return false;
    }
  }
}
