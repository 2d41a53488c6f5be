// DOM elements, text formatting and requests. Text is always inserted as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node && name !== "role") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// Small images are smoothed when they are enlarged, unless the person asks for sharp pixels.
export const isSmall = (picture) => picture.naturalWidth < 160;

export function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

let fading;
export function say(text, { aloud = true, seconds = 2.5 } = {}) {
  const toast = $("toast");
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => toast.classList.remove("shown"), seconds * 1000);
  if (aloud) $("live").textContent = text;
}

// A key consumed by an input method, such as Enter that accepts a word; Safari only sets keyCode 229.
export const composing = (event) => event.isComposing || event.keyCode === 229;

export function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
}

export function duration(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function get(address) {
  return read(await fetch(address, { cache: "no-store" }));
}

export async function post(address, body, options = {}) {
  const headers = { "Content-Type": "application/json", "X-Versionspace": "1" };
  return read(await fetch(address, { method: "POST", headers, body: JSON.stringify(body), ...options }));
}

async function read(response) {
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, found.detail || `error ${response.status}`);
  return found;
}

// crypto.randomUUID exists only on loopback and https; a page on the local network needs this.
export function name() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
