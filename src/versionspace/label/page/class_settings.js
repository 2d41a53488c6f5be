// The classes: names, keys, guidance and order, merging and deleting. Each change is stored at once, for everybody.

import { $, make, post, say } from "./dom.js";

export class ClassSettings {
  constructor({ state, who, add, changed }) {
    Object.assign(this, { state, who, add, changed });
    this.drawn = "";
    $("settings-add").addEventListener("click", () => this.add());
    $("confirm-cancel").addEventListener("click", () => $("confirm").close());
    $("confirm-do").addEventListener("click", () => this.confirmed());
    $("confirm-into").addEventListener("change", () => this.explain());
  }

  open() {
    this.drawn = "";
    this.fail("");
    this.draw();
    $("settings-add").focus();
  }

  // A field that somebody is typing into is not drawn anew.
  update() {
    const field = document.activeElement;
    const typing = $("settings-rows").contains(field) && field.matches("input") && field.value !== field.dataset.was;
    if (!typing) this.draw();
  }

  draw() {
    const { classes } = this.state();
    const key = JSON.stringify(classes.map((one) => [one.name, one.key, one.guidance, one.given]));
    if (key === this.drawn) return;
    this.drawn = key;
    const { name, part } = document.activeElement?.dataset ?? {};
    $("settings-rows").replaceChildren(...classes.map((one, place) => this.row(one, place, classes.length)));
    if (part) this.focus(name, part);
  }

  focus(name, part) {
    const found = [...$("settings-rows").querySelectorAll("[data-part]")]
      .find((one) => one.dataset.name === name && one.dataset.part === part);
    (found?.disabled ? found.parentElement.querySelector("button:not(:disabled)") : found)?.focus();
  }

  row({ name, key, guidance, given: labels }, place, count) {
    const field = (part, value, options) => {
      const made = make("input", { type: "text", value, autocomplete: "off", spellcheck: false, ...options });
      Object.assign(made.dataset, { name, part, was: value });
      made.setAttribute("aria-label", `${{ rename: "Name", key: "Key", guidance: "Guidance" }[part]} of ${name}`);
      made.addEventListener("change", () => this.store(name, part, made));
      made.addEventListener("keydown", (event) => {
        if (event.key === "Enter") made.blur();
        if (event.key === "Escape") made.value = value;
      });
      return made;
    };
    const button = (part, text, label, act, disabled = false) => {
      const made = make("button", { type: "button", textContent: text, title: label, disabled });
      made.setAttribute("aria-label", label);
      Object.assign(made.dataset, { name, part });
      made.addEventListener("click", act);
      return made;
    };
    const given = labels === 1 ? "1 label" : `${labels} labels`;
    return make("li", {},
      make("span", { className: "moves" }, button("up", "↑", `Move ${name} up`, () => this.move(place, -1), place === 0),
        button("down", "↓", `Move ${name} down`, () => this.move(place, 1), place === count - 1)),
      field("rename", name, { maxLength: 60, className: "rename" }),
      field("key", key, { maxLength: 1, className: "key", placeholder: place < 10 ? String((place + 1) % 10) : "–" }),
      field("guidance", guidance, { maxLength: 200, className: "guidance", placeholder: "What belongs here" }),
      make("span", { className: "given", textContent: given, title: "With those of the audit" }),
      make("span", { className: "acts" },
        button("merge", "Merge…", `Merge ${name} into another class`, () => this.ask("merge", name)),
        button("delete", "Delete…", `Delete ${name}`, () => this.ask("delete", name))));
  }

  async store(name, part, field) {
    const value = field.value.trim();
    if (value === field.dataset.was) return;
    const done = part === "rename"
      ? await this.change("rename", { name, to: value }, `Renamed ${name} to ${value}`)
      : await this.change("describe", { name, [part]: value }, part === "key" ? `Key of ${name}: ${value.toUpperCase() || "default"}` : `Guidance of ${name} stored`);
    if (!done) field.value = field.dataset.was;
    this.drawn = "";
    this.draw();
  }

  async move(place, step) {
    const names = this.state().classes.map((one) => one.name);
    const [moved] = names.splice(place, 1);
    names.splice(place + step, 0, moved);
    await this.change("order", { names }, `${moved}: place ${place + step + 1} of ${names.length}`);
  }

  // Returns whether the server stored the change; if not, the page says why.
  async change(what, body, said) {
    try {
      await post(`/api/class/${what}`, { ...body, who: this.who });
    } catch (error) {
      this.fail(error.message);
      return false;
    }
    this.fail("");
    await this.changed();
    say(said);
    return true;
  }

  fail(text) {
    $("settings-trouble").textContent = text;
  }

  // What a merger or a deletion does is said before it is done.
  async ask(what, name) {
    const found = await fetch("/api/classes", { cache: "no-store" }).then((response) => response.json()).catch(() => null);
    const one = found?.classes.find((other) => other.name === name);
    if (!one) {
      this.fail(`The class “${name}” is not there any more, or the server does not respond.`);
      this.changed();
      return;
    }
    this.asked = { what, name, labels: one.labels };
    const merging = what === "merge";
    $("confirm-title").textContent = merging ? `Merge “${name}”` : `Delete “${name}”`;
    $("confirm-choice").hidden = !merging;
    const others = found.classes.map((other) => other.name).filter((other) => other !== name);
    $("confirm-into").replaceChildren(...others.map((other) => make("option", { value: other, textContent: other })));
    $("confirm-trouble").textContent = "";
    this.explain();
    $("confirm").showModal();
    (merging ? $("confirm-into") : $("confirm-cancel")).focus();
  }

  explain() {
    const { what, name, labels } = this.asked;
    const its = labels === 1 ? "Its label" : `Its ${labels} labels`;
    const into = $("confirm-into").value;
    const text = {
      merge: `${labels ? `${its} become${labels === 1 ? "s" : ""} “${into}”` : "It has no labels"}, and “${name}” disappears from the list. `
        + "This cannot be undone here. A new model is trained.",
      delete: `${labels ? `${its} no longer count${labels === 1 ? "s" : ""}: the image${labels === 1 ? " is" : "s are"} asked again. The ledger keeps who answered what. To keep them under another name, merge instead.` : "It has no labels."} `
        + "This cannot be undone here. A new model is trained.",
    };
    $("confirm-text").textContent = text[what];
    $("confirm-do").textContent = what === "merge" ? "Merge" : labels ? `Delete it and ${labels} label${labels === 1 ? "" : "s"}` : "Delete";
  }

  async confirmed() {
    const { what, name, labels } = this.asked;
    const into = $("confirm-into").value;
    const done = what === "merge" ? await this.change("merge", { name, into }, `Merged ${name} into ${into}`)
      : await this.change("delete", { name, labels }, `Deleted ${name}`);
    $("confirm-trouble").textContent = done ? "" : $("settings-trouble").textContent;
    if (!done) return;
    $("confirm").close();
    $("settings-add").focus();
  }

  taken(event, key) {
    if (key !== "n" || event.repeat) return false;
    this.add();
    return true;
  }
}
