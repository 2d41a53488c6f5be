// Keyboard handling. No key stores an unintended answer: not a key held down, not Enter on another button, not the first
// letter of a name typed to find a class.

import { say } from "./dom.js";

const ANNOUNCED = 2500; // milliseconds

export class Keys {
  // letters: commands by letter; others: commands by any other key.
  constructor({ classes, grid, letters, others }) {
    Object.assign(this, { classes, grid, letters: new Map(letters), others: new Map(others) });
    this.before = { key: "", at: 0 };
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    document.body.classList.toggle("tabbed", event.key === "Tab");
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, select, textarea") || event.key === "Shift") return;
    if (this.taken(event)) event.preventDefault();
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
    if (/^[0-9]$/.test(key)) return this.done(() => this.classes.byKey(key));
    if (this.classes.many && key === "/") return this.done(() => this.classes.open());
    if (this.classes.many && key === ".") return this.done(() => this.announce());
    return this.others.has(key) && this.done(this.others.get(key));
  }

  // A held Enter would repeat a click and confirm grids that nobody has seen.
  enter(event, control) {
    if (event.repeat) return true;
    if (!this.grid.open || (control && !control.matches(".cell, #grid-confirm"))) return false;
    return this.done(() => this.grid.confirm());
  }

  // With more than ten classes letters type a name; a command letter follows a full stop.
  letter(event, key) {
    const announced = this.before.key === "." && event.timeStamp - this.before.at < ANNOUNCED;
    if (this.classes.many && !announced) return this.done(() => this.classes.open(event.key));
    return this.letters.has(key) && this.done(this.letters.get(key));
  }

  announce() {
    say(`Now press one of ${[...this.letters.keys()].join(", ").toUpperCase()}`, { seconds: ANNOUNCED / 1000 });
  }

  done(what) {
    what();
    return true;
  }
}

// Update the key hints on the buttons and in the list of keys.
export function showLetters(many) {
  for (const hint of document.querySelectorAll("kbd[data-letter]")) {
    const { letter } = hint.dataset;
    const text = many ? `. ${letter}` : letter;
    if (hint.textContent === text) continue;
    hint.textContent = text;
    const button = hint.closest("button");
    // ARIA cannot express a sequence of two keys; the button's text shows it.
    if (many) button?.removeAttribute("aria-keyshortcuts");
    else button?.setAttribute("aria-keyshortcuts", letter.toLowerCase());
  }
}
