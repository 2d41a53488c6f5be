// Class buttons, keys 1 to 0 for the first ten, and a search field where there are more.

import { $, composing, make } from "./dom.js";

const MANY = 10;

export const keyOf = (place) => (place < 9 ? String(place + 1) : place === 9 ? "0" : "");

export class Classes {
  constructor(chosen) {
    this.chosen = chosen;
    this.names = [];
    this.marked = 0;
    const find = $("find");
    find.addEventListener("input", () => {
      this.marked = 0;
      this.filter();
    });
    find.addEventListener("keydown", (event) => this.typed(event));
    find.addEventListener("blur", () => setTimeout(() => this.filter(), 150));
  }

  update(classes) {
    const names = classes.map((one) => one.name);
    if (names.join("\n") !== this.names.join("\n")) {
      this.names = names;
      $("finder").hidden = !this.many;
      $("classes").replaceChildren(...names.map((name, place) => this.button(name, place)));
      this.filter();
    }
    for (const [place, one] of classes.entries()) {
      const count = $("classes").children[place].querySelector(".count");
      if (count.textContent !== String(one.labels)) count.textContent = String(one.labels);
    }
  }

  // With more classes than digit keys, letters search for a class.
  get many() {
    return this.names.length > MANY;
  }

  button(name, place) {
    const key = keyOf(place);
    const made = make("button", { className: "class", type: "button" },
      ...(key ? [make("kbd", { textContent: key, "aria-hidden": "true" })] : []),
      make("span", { className: "name", textContent: name }),
      make("span", { className: "count", textContent: "0", title: "training labels", "aria-hidden": "true" }));
    if (key) made.setAttribute("aria-keyshortcuts", key);
    made.addEventListener("click", () => this.choose(name));
    return made;
  }

  choose(name) {
    $("find").value = "";
    this.filter();
    $("find").blur();
    this.chosen(name);
  }

  byKey(key) {
    const place = key === "0" ? 9 : Number(key) - 1;
    if (place < this.names.length) this.choose(this.names[place]);
  }

  // In grid mode: highlight the class of the displayed grid.
  mark(name) {
    for (const [place, made] of [...$("classes").children].entries()) {
      made.classList.toggle("marked", this.names[place] === name);
    }
  }

  flash(name) {
    const made = $("classes").children[this.names.indexOf(name)];
    made?.classList.add("chosen");
    setTimeout(() => made?.classList.remove("chosen"), 180);
  }

  // Start a search, optionally with a first letter.
  open(letter = "") {
    const find = $("find");
    if (!find.offsetParent) return; // hidden once labelling has ended
    find.focus();
    find.value = letter;
    this.filter();
  }

  // Exact matches first, then prefixes, then substrings.
  matches() {
    const typed = $("find").value.trim();
    const text = typed.toLowerCase();
    if (!text) return [];
    const rank = (name) => {
      const lower = name.toLowerCase();
      return [name === typed, lower === text, lower.startsWith(text), lower.includes(text)].indexOf(true);
    };
    return this.names.filter((name) => rank(name) >= 0).sort((a, b) => rank(a) - rank(b));
  }

  filter() {
    const fits = this.matches();
    const text = $("find").value.trim();
    this.marked = Math.min(this.marked, Math.max(0, fits.length - 1));
    for (const [place, made] of [...$("classes").children].entries()) {
      made.hidden = text !== "" && !fits.includes(this.names[place]);
      made.classList.toggle("marked", text !== "" && this.names[place] === fits[this.marked]);
    }
    $("find").setAttribute("aria-expanded", String(text !== ""));
    if (text) $("live").textContent = fits.length ? `${fits[this.marked]}, ${fits.length} found` : "no such class";
  }

  typed(event) {
    if (composing(event)) return;
    const fits = this.matches();
    if (event.key === "Enter" && fits.length) this.choose(fits[this.marked]);
    else if (event.key === "Escape") {
      $("find").value = "";
      $("find").blur();
      this.filter();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.marked = (this.marked + (event.key === "ArrowDown" ? 1 : fits.length - 1)) % Math.max(1, fits.length);
      this.filter();
    } else return;
    event.preventDefault();
  }
}
