// Class buttons, keys 1 to 0 for the first ten, and a search field where there are more.

import { $, composing, make } from "./dom.js";

const MANY = 10;
const DENSE = 20; // from this many classes on, buttons are small
const LENGTHS = [[3, "short"], [12, "medium"]]; // of the longest name

export const keyOf = (place) => (place < 9 ? String(place + 1) : place === 9 ? "0" : "");

// By key: the class that it chooses. A class without a key of its own has a digit, if it is among the first ten.
function assigned(classes) {
  const keys = new Map(classes.filter((one) => one.key).map((one) => [one.key, one.name]));
  for (const [place, one] of classes.entries()) {
    const digit = keyOf(place);
    if (digit && !one.key && !keys.has(digit)) keys.set(digit, one.name);
  }
  return keys;
}

export class Classes {
  constructor({ chosen, missing, changed }) {
    Object.assign(this, { chosen, missing, changed });
    this.names = [];
    this.keys = new Map();
    this.own = new Set(); // classes with a key of their own
    this.guidance = new Map();
    this.drawn = "";
    this.marked = 0;
    this.labels = [];
    this.offered = null;
    this.gridName = "";
    const find = $("find");
    find.addEventListener("input", () => {
      this.marked = 0;
      this.filter();
    });
    find.addEventListener("keydown", (event) => this.typed(event));
    find.addEventListener("blur", () => setTimeout(() => this.filter(), 150));
    $("add-typed").addEventListener("click", () => this.missing(find.value.trim()));
    for (const id of ["digits", "letters"]) {
      $(id).value = localStorage.getItem(`versionspace-${id}`) ?? "auto";
      $(id).addEventListener("change", () => {
        localStorage.setItem(`versionspace-${id}`, $(id).value);
        this.draw();
        this.changed();
      });
    }
  }

  update(classes) {
    const names = classes.map((one) => one.name);
    this.labels = classes.map((one) => one.labels);
    const key = JSON.stringify(classes.map((one) => [one.name, one.key, one.guidance]));
    if (key !== this.drawn) {
      Object.assign(this, { names, drawn: key, keys: assigned(classes) });
      this.own = new Set(classes.filter((one) => one.key).map((one) => one.name));
      this.guidance = new Map(classes.map((one) => [one.name, one.guidance]));
      this.draw();
    }
    this.count();
  }

  draw() {
    const longest = Math.max(0, ...this.names.map((name) => [...name].length));
    document.body.dataset.names = LENGTHS.find(([most]) => longest <= most)?.[1] ?? "long";
    document.body.classList.toggle("dense", this.names.length > DENSE);
    $("classes").replaceChildren(...this.names.map((name) => this.button(name)));
    $("finder").hidden = !this.searching;
    document.body.classList.toggle("searching", this.searching);
    this.filter();
    this.count();
  }

  // With more classes than digit keys, digits and letters are typed to search for a class, unless set otherwise.
  types(keys) {
    return $(keys).value === "type" || ($(keys).value === "auto" && this.names.length > MANY);
  }

  get searching() {
    return this.names.length > MANY || this.types("digits") || this.types("letters");
  }

  // The key of a class as people press it: after a full stop where such keys type a name. Empty if it has none.
  hint(name) {
    const [key] = [...this.keys].find(([, one]) => one === name) ?? [""];
    const types = this.types(/^[0-9]$/.test(key) ? "digits" : "letters");
    if (!key || (types && !this.own.has(name))) return "";
    return types ? `. ${key}` : key;
  }

  button(name) {
    const key = this.hint(name);
    const guidance = this.guidance.get(name);
    const made = make("button", { className: "class", type: "button", title: guidance ? `${name}: ${guidance}` : name },
      ...(key ? [make("kbd", { textContent: key, "aria-hidden": "true" })] : []),
      make("span", { className: "name", textContent: name }),
      make("span", { className: "count", "aria-hidden": "true" }));
    if (guidance && this.names.length <= DENSE) {
      made.querySelector(".name").append(make("small", { className: "guidance", textContent: guidance }));
    }
    if (guidance) made.setAttribute("aria-description", guidance);
    made.setAttribute("aria-label", name);
    if (key.length === 1) made.setAttribute("aria-keyshortcuts", key);
    made.addEventListener("click", () => this.choose(name));
    return made;
  }

  // Beside each name: its labels, or in the grid its images that the model is sure about.
  count() {
    for (const [place, made] of [...$("classes").children].entries()) {
      const images = this.offered?.get(this.names[place]) ?? 0;
      const none = this.offered || this.names.length > DENSE ? "" : "0";
      const text = String((this.offered ? images : this.labels[place]) || none);
      const count = made.querySelector(".count");
      if (count.textContent !== text) count.textContent = text;
      made.classList.toggle("unoffered", this.offered !== null && !images);
    }
  }

  choose(name) {
    $("find").value = "";
    this.filter();
    $("find").blur();
    this.chosen(name);
  }

  byKey(key) {
    if (this.keys.has(key)) this.choose(this.keys.get(key));
  }

  // In grid mode: highlight the class of the displayed grid; offers: number of images by class, null outside of a grid.
  mark(name, offers) {
    Object.assign(this, { gridName: name, offered: offers });
    this.count();
    this.filter();
  }

  flash(name) {
    const made = $("classes").children[this.names.indexOf(name)];
    made?.classList.add("chosen");
    setTimeout(() => made?.classList.remove("chosen"), 180);
  }

  // Start a search, optionally with a first character.
  open(text = "") {
    const find = $("find");
    if (!find.offsetParent) return; // hidden once labelling has ended
    find.focus();
    find.value = text;
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
      made.classList.toggle("marked", this.names[place] === (text ? fits[this.marked] : this.gridName));
    }
    const none = text !== "" && !fits.length;
    $("no-match").hidden = !none;
    $("classes").hidden = none;
    $("no-match").querySelector("p").textContent = none ? `No class matches “${text}”.` : "";
    $("find").setAttribute("aria-expanded", String(text !== ""));
    const found = none ? `No class matches ${text}. Enter adds it.` : `${fits[this.marked]}, ${fits.length} found`;
    if (text) $("live").textContent = found;
  }

  typed(event) {
    if (composing(event)) return;
    const fits = this.matches();
    const text = $("find").value.trim();
    if (event.key === "Enter" && text) {
      if (event.repeat) event.preventDefault();
      else if (fits.length) this.choose(fits[this.marked]);
      else this.missing(text);
    } else if (event.key === "Escape") {
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
