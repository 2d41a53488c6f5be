// What each key does. No key stores an answer that nobody meant: not one that is held down, not Enter on a button that
// does something else, and not the first letter of a name that is typed to find a class.

import { say } from "./dom.js";

const ANNOUNCED = 2500; // milliseconds

export class Keys {
  // letters: what the commands do; others: what keys do that are no letters.
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

  // Whether the key was ours.
  taken(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const control = event.target.closest("button, a");
    if (key === "Enter") return this.enter(event, control);
    if (this.grid.open && key.startsWith("Arrow")) return this.done(() => this.grid.move(key));
    if (key === " " && control?.matches("button")) return false; // a button that Tab has reached
    if (event.repeat && key !== "Backspace") return false;
    if (/^\p{L}$/u.test(key)) return this.letter(event, key);
    if (/^[0-9]$/.test(key)) return this.done(() => this.classes.byKey(key));
    if (this.classes.many && key === "/") return this.done(() => this.classes.open());
    if (this.classes.many && key === ".") return this.done(() => this.announce());
    return this.others.has(key) && this.done(this.others.get(key));
  }

  // A held Enter would press a button again and again, and confirm grids that nobody has seen.
  enter(event, control) {
    if (event.repeat) return true;
    if (!this.grid.open || (control && !control.matches(".cell, #grid-confirm"))) return false;
    return this.done(() => this.grid.confirm());
  }

  // With more than ten classes letters type a name; a command's letter comes after a full stop.
  letter(event, key) {
    const announced = this.before.key === "." && event.timeStamp - this.before.at < ANNOUNCED;
    if (this.classes.many && !announced) return this.done(() => this.classes.open(event.key));
    return this.letters.has(key) && this.done(this.letters.get(key));
  }

  announce() {
    say(`Now one of ${[...this.letters.keys()].join(", ").toUpperCase()}`, { seconds: ANNOUNCED / 1000 });
  }

  done(what) {
    what();
    return true;
  }
}

// What the buttons and the list of keys say, as it is with so many classes.
export function showLetters(many) {
  for (const hint of document.querySelectorAll("kbd[data-letter]")) {
    const { letter } = hint.dataset;
    const text = many ? `. ${letter}` : letter;
    if (hint.textContent === text) continue;
    hint.textContent = text;
    const button = hint.closest("button");
    // A sequence of two keys is no shortcut that ARIA can name: the button's text says it.
    if (many) button?.removeAttribute("aria-keyshortcuts");
    else button?.setAttribute("aria-keyshortcuts", letter.toLowerCase());
  }
}
