// Keyboard handling. No key stores an unintended answer: not a key held down, not Enter on another button, not the first
// letter of a name typed to find a class.

import { $, say } from "./dom.js";

const ANNOUNCED = 2500; // milliseconds

export class Keys {
  // letters: commands by letter; others: commands by any other key.
  constructor({ classes, grid, views, letters, others }) {
    Object.assign(this, { classes, grid, views, letters: new Map(letters), others: new Map(others) });
    this.before = { key: "", at: 0 };
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    document.body.classList.toggle("tabbed", event.key === "Tab");
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, select, textarea") || event.key === "Shift") return;
    if (this.views?.active ? this.views.taken(event) : this.taken(event)) event.preventDefault();
    this.before = { key: event.key, at: event.timeStamp };
  }

  // Handles a key; returns whether it did.
  taken(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const control = event.target.closest("button, a");
    if (key === "Enter") return this.enter(event, control);
    if (this.grid.open && key.startsWith("Arrow")) return this.done(() => this.grid.move(key));
    if (key === " " && control?.matches("button")) return false; // Space activates a focused button
    if (event.repeat && key !== "Backspace") return false;
    if (/^\p{L}$/u.test(key)) return this.letter(event, key);
    if (/^[0-9]$/.test(key)) {
      const types = this.classes.types("digits") && !this.announced(event);
      return this.done(() => (types ? this.classes.open(key) : this.classes.byKey(key)));
    }
    if (this.classes.searching && key === "/") return this.done(() => this.classes.open());
    if ((this.classes.types("letters") || this.classes.types("digits")) && key === ".") return this.done(() => this.announce());
    return this.others.has(key) && this.done(this.others.get(key));
  }

  // A held Enter would repeat a click and confirm grids that nobody has seen.
  enter(event, control) {
    if (event.repeat) return true;
    if (!this.grid.open || (control && !control.matches(".cell, #grid-confirm"))) return false;
    return this.done(() => this.grid.confirm());
  }

  // Where letters type a name, a command letter and the key of a class follow a full stop.
  letter(event, key) {
    if (this.classes.types("letters") && !this.announced(event)) return this.done(() => this.classes.open(event.key));
    if (this.letters.has(key)) return this.done(this.letters.get(key));
    return this.classes.keys.has(key) && this.done(() => this.classes.byKey(key));
  }

  announced(event) {
    return this.before.key === "." && event.timeStamp - this.before.at < ANNOUNCED;
  }

  announce() {
    const own = [...this.classes.keys.keys()].filter((key) => !this.letters.has(key));
    say(`Now press one of ${[...this.letters.keys(), ...own].join(", ").toUpperCase()}`, { seconds: ANNOUNCED / 1000 });
  }

  done(what) {
    what();
    return true;
  }
}

// Update the key hints on the buttons, in the list of keys and for screen readers.
export function showKeys(classes) {
  const [digits, letters] = [classes.types("digits"), classes.types("letters")];
  const shown = { digits: !digits, search: classes.searching, typing: letters };
  for (const row of document.querySelectorAll("[data-keys]")) row.hidden = !shown[row.dataset.keys];
  const how = digits ? "Type part of a class’s name and press Enter" : "Keys 1 to 9 and 0 choose a class";
  const said = `${how}, Space skips, Backspace undoes, question mark lists all keys.`;
  if ($("how").textContent !== said) $("how").textContent = said;
  for (const hint of document.querySelectorAll("kbd[data-letter]")) {
    const { letter } = hint.dataset;
    const text = letters ? `. ${letter}` : letter;
    if (hint.textContent === text) continue;
    hint.textContent = text;
    const button = hint.closest("button");
    // ARIA cannot express a sequence of two keys; the button's text shows it.
    if (letters) button?.removeAttribute("aria-keyshortcuts");
    else button?.setAttribute("aria-keyshortcuts", letter.toLowerCase());
  }
}
