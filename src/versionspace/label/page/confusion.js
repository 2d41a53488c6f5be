// What the audit says about each class: accuracy with its interval, and the confusion matrix, whose cells open the images
// behind them.

import { $, make } from "./dom.js";

const SURE = 5; // with fewer images, a share says next to nothing

const percent = (share) => `${Math.round(100 * share)}%`;

export class AuditTables {
  constructor({ chosen }) {
    this.chosen = chosen;
    this.drawn = "";
  }

  draw(found) {
    const key = JSON.stringify(found);
    if (key === this.drawn) return;
    this.drawn = key;
    const summary = $("audit-review").querySelector("summary");
    if (!found.images) {
      const why = found.round ? "no image of the audit has a label and a guess yet" : "it starts with the first model";
      summary.textContent = `Accuracy by class: ${why}`;
      $("audit-tables").replaceChildren();
      return;
    }
    const few = found.waiting ? `, ${found.waiting} more not labelled yet` : "";
    summary.textContent = `Accuracy by class: the round ${found.round} model is right on ${found.right} of ${found.images} audit images${few}`;
    $("audit-tables").replaceChildren(this.accuracy(found.classes), this.matrix(found));
  }

  accuracy(classes) {
    const head = make("tr", {}, ...["Class", "Right", "Accuracy", "95% interval", "When the model says it"].map((text) =>
      make("th", { scope: "col", textContent: text })));
    const rows = classes.map((one) => {
      const few = one.images < SURE;
      const cells = [`${one.right} of ${one.images}`, one.images ? percent(one.right / one.images) : "–",
        one.images ? `${percent(one.low)} to ${percent(one.high)}` : "–",
        one.guessed ? `right ${one.right} of ${one.guessed}` : "never"];
      return make("tr", { className: few ? "few" : "" }, make("th", { scope: "row", textContent: one.name }),
        ...cells.map((text) => make("td", { textContent: text })));
    });
    return framed("Accuracy by class", "On audit images only, which the model is not trained on. Each interval is for its "
      + "class alone; with few images it is wide.", make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  matrix({ classes, cells }) {
    const names = classes.map((one) => one.name);
    const counts = new Map(cells.map((one) => [JSON.stringify([one.name, one.guess]), one.images]));
    const most = Math.max(1, ...cells.map((one) => one.images));
    const head = make("tr", {}, make("th", { scope: "col", className: "corner", textContent: "label ↓ model →" }),
      ...names.map((name) => make("th", { scope: "col", title: name }, make("span", { textContent: name }))));
    const rows = names.map((name) => make("tr", {}, make("th", { scope: "row", textContent: name }),
      ...names.map((guess) => this.cell(name, guess, counts.get(JSON.stringify([name, guess])) ?? 0, most))));
    return framed("Confusion matrix", "Confusion matrix of the audit: click a number to see its images.",
      make("table", { className: "matrix" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  cell(name, guess, count, most) {
    if (!count) return make("td", {});
    const images = count === 1 ? "1 image" : `${count} images`;
    const what = name === guess ? `${name}, and the model agrees` : `Label ${name}, model ${guess}`;
    const made = make("button", { type: "button", textContent: String(count), title: `${what}: ${images}` });
    made.setAttribute("aria-label", `${what}: ${images}`);
    made.addEventListener("click", () => this.chosen(name, guess));
    const cell = make("td", { className: name === guess ? "hit" : "miss" }, made);
    cell.style.setProperty("--share", String(Math.round(15 + (45 * count) / most)));
    return cell;
  }
}

// A table that scrolls sideways where it is too wide, below what it shows.
function framed(title, text, table) {
  return make("div", { className: "framed" }, make("p", { className: "hint", textContent: text }),
    make("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": title }, table));
}
